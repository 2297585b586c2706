// test: postgres
/** A machine that has joined, or was removed, starts with another token. */

import { IdentityFiles } from '@slipway/gpu-agent/identity/identity-files';
import { Joining } from '@slipway/gpu-agent/identity/joining';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { joinTokenText, readJoinToken } from '@slipway/kit/tls/join-token';
import { CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const NO_FILES: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };
const MACHINE = 'othertoken01';

t.test('a machine and its tokens', async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' });
  const { address, secureAddress } = core.replicas[0]!;
  const files = new IdentityFiles((await scratch(t)).path('agent'));
  const operator = systemTransport.openClient(JoinServiceClient, address);
  t.teardown(() => operator.close());
  const newToken = (pool: string) =>
    call(operator, 'createJoinToken', CreateJoinTokenRequest.fromPartial({ pool }), core.rootKey);
  /** Joins. Ends as soon as a try has failed and would be repeated: with the same files it would fail for ever. */
  const join = async (token: string): Promise<void> => {
    const ending = new AbortController();
    const log = {
      write: (line: string): void => {
        if (line.includes('will try again')) ending.abort();
      },
    };
    const joining = new Joining({
      files,
      token,
      addresses: [secureAddress],
      trust: NO_FILES,
      name: 'rack',
      transport: systemTransport,
      clock: systemClock,
      random: systemRandom,
      logger: createLogger('test', 'warn', log),
    });
    await joining.join(MACHINE, ending.signal);
  };
  await join((await newToken('rack')).text);
  t.equal(files.facts.pool, 'rack');

  await t.test('the authority has been exchanged since the token was made', async (t) => {
    const { text } = await newToken('shelf');
    await join(joinTokenText({ ...readJoinToken(text)!, authority: '00'.repeat(32) }));
    t.equal(files.facts.pool, 'shelf', 'the machine trusts its installation, whatever the token says');
  });

  await t.test('removed, then started with a token that admits no machine, then with a good one', async (t) => {
    const agent = await core.joinAgent(
      { machineId: MACHINE, agentKey: '', tls: new TlsSource(files.tls(NO_FILES, false)) },
      { ...core.replicas[0]!, address: secureAddress },
    );
    const removing = call(core.clients.machines, 'forgetMachine', { id: MACHINE, connected: true }, core.rootKey);
    await agent.ended;
    await core.sql`UPDATE machine SET lease_expires_at = now()`;
    await removing;
    const { text, token } = await newToken('none');
    await call(operator, 'revokeJoinToken', { id: token!.id }, core.rootKey);
    await t.rejects(join(text), /This token was revoked/);
    await join((await newToken('rack')).text);
    t.ok(files.exists);
    t.equal(files.facts.pool, 'rack');
    const machine = systemTransport.openClient(JoinServiceClient, secureAddress, {
      tls: new TlsSource(files.tls(NO_FILES, false)),
    });
    t.teardown(() => machine.close());
    t.match(await call(machine, 'renewCertificate', {}, ''), { certificate: {} }, 'its new certificate is valid');
  });
});
