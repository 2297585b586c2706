// test: postgres
/** Machines join by a token, prove who they are by their certificate, and are removed. */
import { writeFileSync } from 'node:fs';
import type { Client } from '@grpc/grpc-js';
import { systemTransport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemClock } from '@slipway/kit/time/clock';
import { DAY_MS, newPrivateKey, signingRequest } from '@slipway/kit/tls/authority';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { EdgeServiceClient } from '@slipway/proto/gen/slipway/v1/edge_service';
import { CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const LISTEN = { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' };

/** Core with TLS, whose clock the test moves. */
async function startJoining(t: Test) {
  let aheadMs = 0;
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
  const core = await startReplicas(t, 1, LISTEN, { clock });
  const { address, secureAddress } = core.replicas[0]!;
  const folder = await scratch(t);
  const opened: Client[] = [];
  t.teardown(() => {
    for (const each of opened) each.close();
  });
  const client = (at: string, tls?: TlsSource): JoinServiceClient => {
    const made = systemTransport.openClient(JoinServiceClient, at, { tls });
    opened.push(made);
    return made;
  };
  const plain = client(address);
  const newToken = (fields: Partial<CreateJoinTokenRequest> = {}) =>
    call(plain, 'createJoinToken', CreateJoinTokenRequest.fromPartial(fields), core.rootKey);
  const caDigests = [readJoinToken((await newToken()).text)!.authority!];
  const trusting = client(secureAddress, new TlsSource({ caFile: '', certFile: '', certKeyFile: '', caDigests }));
  const join = (token: string, machineId: string, key = newPrivateKey(), name = machineId) =>
    call(trusting, 'joinMachine', { token, machineId, name, signingRequest: signingRequest(key, machineId) }, '');
  /** TLS of a machine with this certificate. */
  const tlsOf = (certificate: string, key: string): TlsSource => {
    const [certFile, certKeyFile] = [folder.path(`${opened.length}.pem`), folder.path(`${opened.length}.key`)];
    writeFileSync(certFile, certificate);
    writeFileSync(certKeyFile, key);
    return new TlsSource({ caFile: '', caDigests, certFile, certKeyFile });
  };
  const machine = (certificate: string, key: string) => client(secureAddress, tlsOf(certificate, key));
  const pass = (ms: number): void => {
    aheadMs += ms;
  };
  return { ...core, secureAddress, plain, newToken, join, machine, tlsOf, pass };
}

t.test('joining', async (t) => {
  const core = await startJoining(t);
  const { newToken, join, machine, sql, rootKey, plain } = core;
  const listed = async (id: string) =>
    (await call(plain, 'listJoinTokens', {}, rootKey)).tokens.find((token) => token.id === id)!;

  await t.test('a token lets one machine in, however many try at once', async (t) => {
    const { text, token, addresses } = await newToken({ pool: 'rack', locations: ['eu-1'] });
    t.equal(`grpcs://${addresses[0]}`, core.secureAddress);
    const tries = ['joinrace0001', 'joinrace0002', 'joinrace0003'].map((id) => join(text, id));
    const ended = await Promise.allSettled(tries);
    const joined = ended.flatMap((end) => (end.status === 'fulfilled' ? end.value : []));
    t.equal(joined.length, 1);
    t.match(joined[0], { pool: 'rack', locations: ['eu-1'], authority: /BEGIN CERTIFICATE/ });
    for (const end of ended)
      if (end.status === 'rejected') t.match(end.reason, { message: /as many machines as it may/ });
    t.match(await listed(token!.id), { uses: 1, open: false });
  });

  await t.test('a lost response is repeated, also after the token has expired', async (t) => {
    const { text, token } = await newToken();
    const key = newPrivateKey();
    await join(text, 'joinlost0001', key);
    await call(plain, 'revokeJoinToken', { id: token!.id }, rootKey);
    const again = await join(text, 'joinlost0001', key);
    t.match(await call(machine(again.certificate!.certificate, key), 'renewCertificate', {}, ''), { certificate: {} });
    t.match(await listed(token!.id), { uses: 1 });
    await t.rejects(join(text, 'joinlost0002', key), { reason: 'IN_USE', message: /another machine/ });
    await t.rejects(join(text, 'joinlost0003'), { reason: 'UNAUTHORIZED', message: /was revoked/ });
  });

  await t.test('tokens that admit no machine', async (t) => {
    const { text, token } = await newToken({ usesMax: 5 });
    await sql`UPDATE join_token SET expires_at = now() - interval '1 s' WHERE id = ${token!.id}`;
    await t.rejects(join(text, 'joinnone0001'), { reason: 'UNAUTHORIZED', message: /has expired/ });
    await t.rejects(join(text.replace(/_[A-Za-z0-9]{32}_/, `_${'A'.repeat(32)}_`), 'joinnone0001'), /no such token/);
    await t.rejects(join('rpm_x', 'joinnone0001'), /not the text of a token/);
    const open = await newToken();
    await t.rejects(join(open.text, 'NOT AN ID'), { message: /machine_id/, reason: 'INVALID_REQUEST' });
    const asked = call(plain, 'createJoinToken', CreateJoinTokenRequest.fromPartial({}), core.key);
    await t.rejects(asked, { message: /key/i, reason: 'UNAUTHORIZED' }, 'by the operator only');
    await t.rejects(newToken({ usesMax: 0 }), /uses_max is 0/);
    await t.rejects(newToken({ ttlSeconds: 604_801 }), /ttl_seconds/);
  });

  await t.test('a machine with a key cannot be taken by a token', async (t) => {
    const agent = await core.joinAgent();
    const { text, token } = await newToken();
    await t.rejects(join(text, agent.machineId), { reason: 'IN_USE', message: /machines remove/ });
    t.match(await listed(token!.id), { uses: 0, open: true });
    agent.drop();
  });

  await t.test('open tokens are bounded', async (t) => {
    await sql`
      INSERT INTO join_token (id, secret_hash, uses_max, expires_at)
      SELECT n::text, decode(md5(n::text), 'hex'), 1, now() + interval '1 h' FROM generate_series(1, 100) AS n`;
    await t.rejects(newToken(), { reason: 'IN_USE', message: /100 tokens are open/ });
  });
});

t.test('sessions by certificate', async (t) => {
  const core = await startJoining(t);
  const { newToken, join, machine, tlsOf, rootKey } = core;
  const key = newPrivateKey();
  const machineId = 'certified001';
  const { certificate } = await join((await newToken()).text, machineId, key);
  const secure = { ...core.replicas[0]!, address: core.secureAddress };
  const options = { machineId, agentKey: '', tls: tlsOf(certificate!.certificate, key) };
  const agent = await core.joinAgent(options, secure);
  const other = core.joinAgent({ ...options, machineId: 'certified002' }, secure);
  await t.rejects(other, /belongs to machine certified001/, 'for its own machine only');
  await t.rejects(core.joinAgent({ machineId, agentKey: '' }), /UNAUTHENTICATED/, 'not without the certificate');

  const tunnels = systemTransport.openClient(EdgeServiceClient, core.replicas[0]!.address);
  t.teardown(() => tunnels.close());
  const { tunnelKey } = certificate!;
  t.same(await call(tunnels, 'admitTunnel', {}, tunnelKey), { machineId });
  const forged = tunnelKey.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  await t.rejects(call(tunnels, 'admitTunnel', {}, forged), { message: /key/i, reason: 'UNAUTHORIZED' });
  await t.rejects(call(core.clients.machines, 'listMachines', { view: undefined }, tunnelKey), {
    message: /key/i,
    reason: 'UNAUTHORIZED',
  });

  core.pass(80 * DAY_MS);
  const renewed = (await call(machine(certificate!.certificate, key), 'renewCertificate', {}, '')).certificate!;
  core.pass(20 * DAY_MS);
  const late = call(machine(certificate!.certificate, key), 'renewCertificate', {}, '');
  await t.rejects(late, { reason: 'UNAUTHORIZED', message: /ended on .* core's clock says/ });
  t.equal(agent.end, undefined, 'the session went on');
  t.match(renewed.certificate, /BEGIN CERTIFICATE/);
  core.pass(-100 * DAY_MS);

  const removal = { id: machineId, connected: true };
  const removing = call(core.clients.machines, 'forgetMachine', removal, rootKey);
  await agent.ended;
  await core.sql`UPDATE machine SET lease_expires_at = now()`;
  t.match(await removing, { lostWorkers: 0 });
  const mine = machine(renewed.certificate, key);
  await t.rejects(call(mine, 'renewCertificate', {}, ''), {
    reason: 'UNAUTHORIZED',
    message: /no certificate|was removed/,
  });
  const first = machine(certificate!.certificate, key);
  await t.rejects(call(first, 'renewCertificate', {}, ''), { reason: 'UNAUTHORIZED', message: /was removed/ });
  await t.rejects(call(tunnels, 'admitTunnel', {}, tunnelKey), { message: /was removed/, reason: 'UNAUTHORIZED' });
  const next = await newToken();
  await t.rejects(join(next.text, machineId, key), { reason: 'IN_USE', message: /was revoked: join with a new one/ });
  t.ok(await join(next.text, machineId), 'it comes back with a new key pair');
});
