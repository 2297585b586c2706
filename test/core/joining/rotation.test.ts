// test: postgres
/** The installation's authority is exchanged, and certificates are renewed, under a session with jobs and streams. */

import { IdentityFiles } from '@slipway/gpu-agent/identity/identity-files';
import { Joining } from '@slipway/gpu-agent/identity/joining';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { DAY_MS } from '@slipway/kit/tls/authority';
import { AuthorityChange, CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { digestAt, serialAt } from '../../helpers/net/authority-at.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { sendChunks, startStreams } from './streams-meanwhile.ts';

t.setTimeout(600_000);

const NO_FILES: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };
const MACHINE = 'rotated00001';

/** The agent's side, whose passes the test makes. */
class DrivenJoining extends Joining {
  step(): Promise<void> {
    return this.pass();
  }
}

t.test('the authority and all certificates are exchanged', async (t) => {
  const aheadMs = { core: 0, agent: 0 };
  const shifted = (whose: 'core' | 'agent') => ({
    ...systemClock,
    nowMs: () => systemClock.nowMs() + aheadMs[whose],
    monotonicMs: () => systemClock.monotonicMs() + aheadMs[whose],
  });
  const listen = { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' };
  const core = await startReplicas(t, 1, listen, {
    clock: { ...shifted('core'), monotonicMs: systemClock.monotonicMs },
  });
  const { address, secureAddress } = core.replicas[0]!;
  const folder = await scratch(t);
  const operator = systemTransport.openClient(JoinServiceClient, address);
  t.teardown(() => operator.close());
  const change = (step: AuthorityChange, force = false) =>
    call(operator, 'changeAuthority', { change: step, force }, core.rootKey).then(({ state: after }) => after!);
  const state = async () => (await call(operator, 'readAuthorities', {}, core.rootKey)).state!;
  /** Makes a call by a connection of its own. */
  const by = async (files: Partial<TlsFiles>, what: 'listAuthorities' | 'renewCertificate' = 'listAuthorities') => {
    const client = systemTransport.openClient(JoinServiceClient, secureAddress, {
      tls: new TlsSource({ ...NO_FILES, ...files }),
    });
    try {
      return await call(client, what, {}, '');
    } finally {
      client.close();
    }
  };

  const files = new IdentityFiles(folder.path('agent'));
  const token = (await call(operator, 'createJoinToken', CreateJoinTokenRequest.fromPartial({}), core.rootKey)).text;
  const joining = new DrivenJoining({
    files,
    token,
    addresses: [secureAddress],
    trust: NO_FILES,
    name: 'rack',
    transport: systemTransport,
    clock: shifted('agent'),
    random: systemRandom,
    logger: createLogger('test', 'silent'),
  });
  await joining.join(MACHINE, new AbortController().signal);
  const tls = new TlsSource(files.tls(NO_FILES, false));
  const agent: ScriptedAgent = await core.joinAgent(
    { machineId: MACHINE, agentKey: '', tls, onAssignment: sendChunks(() => agent) },
    { ...core.replicas[0]!, address: secureAddress },
  );
  const streams = await startStreams(t, core);
  const first = await digestAt(secureAddress);

  await t.test('a machine renews its certificate in the last third', async (t) => {
    const { certificate } = files;
    await joining.step();
    t.equal(files.certificate, certificate, 'no sooner');
    aheadMs.agent = 61 * DAY_MS;
    await joining.step();
    t.not(files.certificate, certificate);
    t.match(await by(files.tls(NO_FILES, false), 'renewCertificate'), { certificate: {} });
    t.equal(agent.end, undefined, 'its session went on');
    aheadMs.agent = 0;
  });

  await t.test('both are trusted before the new one is used', async (t) => {
    await t.rejects(change(AuthorityChange.USE), { reason: 'IN_USE', message: /authority rotate/ });
    await t.rejects(change(AuthorityChange.WITHDRAW), { reason: 'IN_USE', message: /Only one/ });
    const made = await change(AuthorityChange.ROTATE);
    t.match(made, { authorities: [{ signs: false }, { digest: first, signs: true }], machinesLeft: 1 });
    await t.rejects(change(AuthorityChange.ROTATE), { reason: 'IN_USE', message: /End that exchange first/ });
    await t.rejects(change(AuthorityChange.USE), { reason: 'IN_USE', message: /less than a minute old/ });
    await core.sql`UPDATE installation SET next_authority_at = now() - interval '2 min'`;
    await t.rejects(change(AuthorityChange.USE), {
      reason: 'IN_USE',
      message: /without a certificate.*: 1 \(rotated00001\)/,
    });
    t.match(await state(), { authorities: [{ signs: true }, { signs: false }], machineNames: [MACHINE] });
    aheadMs.agent = 3_600_000;
    await joining.step();
    t.match(await state(), { machinesLeft: 0 });
    t.equal(files.authorities.match(/BEGIN/g)!.length, 2, 'the machine trusts both');
    t.match(await by(files.tls(NO_FILES, false), 'renewCertificate'), { certificate: {} });
    await t.rejects(change(AuthorityChange.WITHDRAW), { reason: 'IN_USE', message: /Use it instead/ });
    t.equal(await digestAt(secureAddress), first);
  });

  await t.test('the new one is used, and the previous one withdrawn', async (t) => {
    const next = (await state()).authorities[0]!.digest;
    t.match(await change(AuthorityChange.USE), { openTokens: 0 });
    t.equal(await digestAt(secureAddress), next);
    t.ok(await by({ caDigests: [first, next] }), 'who has both digests goes on');
    await t.rejects(by({ caDigests: [first] }), { reason: 'UNAVAILABLE', message: /not reachable/ });
    t.match(await by(files.tls(NO_FILES, false), 'renewCertificate'), { certificate: {} });
    t.match(await change(AuthorityChange.WITHDRAW), { authorities: [{ digest: next, signs: true }] });
    aheadMs.agent += 3_600_000;
    await joining.step();
    t.equal(files.authorities.match(/BEGIN/g)!.length, 1, 'the machine trusts the new one alone');
    t.match(await by(files.tls(NO_FILES, false), 'renewCertificate'), { certificate: {} });
    t.equal(agent.end, undefined, 'its session went on all the time');
  });

  await t.test('meanwhile jobs ran and streamed', () => streams.stop());

  await t.test('an offline machine is left behind by force only, and joins again', async (t) => {
    await change(AuthorityChange.ROTATE);
    await core.sql`UPDATE installation SET next_authority_at = now() - interval '2 min'`;
    // Another replica uses the new one while this one withdraws what it takes for unused.
    const withdrawn = await core.sql.begin(async (tx) => {
      await tx`SELECT FROM installation FOR UPDATE`;
      const call = change(AuthorityChange.WITHDRAW).catch((error: unknown) => error);
      // Other files of a run wait for locks on the same server.
      await waitFor('it to wait for the lock', async () => {
        const waiting = await core.sql`
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%installation%'`;
        return waiting.length > 0;
      });
      await tx`
        UPDATE installation SET previous_authority_certificate = authority_certificate,
          authority_certificate = next_authority_certificate, authority_key_sealed = next_authority_key_sealed,
          next_authority_certificate = NULL, next_authority_key_sealed = NULL, next_authority_at = NULL`;
      return { call };
    });
    t.match(await withdrawn.call, { reason: 'IN_USE', message: /has just changed the authorities/ });
    t.equal((await state()).authorities.length, 2, 'the previous one stays: machines need it');
    await t.rejects(change(AuthorityChange.WITHDRAW), /without a certificate/);
    await change(AuthorityChange.WITHDRAW, true);
    const late = { ...files.tls(NO_FILES, false), caFile: '', caDigests: [await digestAt(secureAddress)] };
    await t.rejects(by(late, 'renewCertificate'), { reason: 'UNAUTHORIZED', message: /shows no certificate/ });
  });

  await t.test('core renews its own in the last third', async (t) => {
    const [serial, digest] = [await serialAt(secureAddress), await digestAt(secureAddress)];
    await state();
    t.equal(await serialAt(secureAddress), serial, 'no sooner');
    aheadMs.core = 61 * DAY_MS;
    await state();
    t.not(await serialAt(secureAddress), serial);
    t.equal(await digestAt(secureAddress), digest, 'of the same authority');
  });
});
