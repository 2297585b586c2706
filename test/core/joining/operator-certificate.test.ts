// test: postgres
/** A core that shows its operator's certificate: who trusts it, how machines join, and how it is renewed. */
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemTransport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { systemRandom } from '@slipway/kit/time/clock';
import { Authority, createAuthority, newPrivateKey, SERIAL_LENGTH, signingRequest } from '@slipway/kit/tls/authority';
import { readJoinToken } from '@slipway/kit/tls/join-token';
import { AuthorityRole, CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { digestAt, serialAt } from '../../helpers/net/authority-at.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const NO_FILES: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };

/** Starts core with a certificate of an authority that is not the installation's. */
async function startWithOwn(t: Test) {
  const folder = t.testdir({});
  const path = (name: string): string => join(folder, name);
  const life = (days: number) => ({ nowMs: Date.now(), days, serial: systemRandom.bytes(SERIAL_LENGTH) });
  const made = createAuthority('an operator', Date.now(), systemRandom.bytes(SERIAL_LENGTH));
  const authority = new Authority(made);
  writeFileSync(path('ca.pem'), made.certificate);
  /** Writes a new certificate for core with its chain. */
  const renew = (): void => {
    const { certificate, key } = authority.issueServer(['127.0.0.1'], life(30));
    writeFileSync(path('key.pem'), key);
    writeFileSync(path('chain.pem'), certificate + made.certificate);
  };
  renew();
  const core = await startReplicas(t, 1, {
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0',
    SLIPWAY_CORE_TLS_CERT_FILE: path('chain.pem'),
    SLIPWAY_CORE_TLS_KEY_FILE: path('key.pem'),
  });
  const { rootKey } = core;
  const { address, secureAddress } = core.replicas[0]!;
  const operator = systemTransport.openClient(JoinServiceClient, address);
  t.teardown(() => operator.close());
  /** Makes a call by a connection of its own. */
  const by = async (files: Partial<TlsFiles>, what: 'listAuthorities' | 'renewCertificate' = 'listAuthorities') => {
    const tls = new TlsSource({ ...NO_FILES, ...files });
    const client = systemTransport.openClient(JoinServiceClient, secureAddress, { tls });
    try {
      return await call(client, what, {}, '');
    } finally {
      client.close();
    }
  };
  const refresh = () => call(operator, 'readAuthorities', {}, rootKey);
  return { core, authority, made, path, renew, operator, by, refresh, secureAddress, rootKey };
}

t.test("the operator's certificate", async (t) => {
  const { core, authority, made, path, renew, operator, by, refresh, secureAddress, rootKey } = await startWithOwn(t);

  await t.test('is trusted by the file of its authority, or by the digest of that', async (t) => {
    t.equal(await digestAt(secureAddress), authority.digest);
    t.ok(await by({ caFile: path('ca.pem') }));
    t.ok(await by({ caDigests: [authority.digest] }));
    const { authorities } = await call(operator, 'listAuthorities', {}, '');
    const own = authorities.find(({ role }) => role === AuthorityRole.CURRENT)!;
    t.ok(authorities.some(({ role, digest }) => role === AuthorityRole.OPERATOR && digest === authority.digest));
    await t.rejects(by({ caDigests: [own.digest] }), { reason: 'UNAVAILABLE', message: /not reachable/ });
    await t.rejects(by({}), { reason: 'UNAVAILABLE', message: /not reachable/ }, 'not by chance');
  });

  await t.test('machines join by it, and show certificates of the installation', async (t) => {
    const { text } = await call(operator, 'createJoinToken', CreateJoinTokenRequest.fromPartial({}), rootKey);
    t.equal(readJoinToken(text)!.authority, undefined, 'the token names no authority: the agent has the file');
    const [key, machineId] = [newPrivateKey(), 'operators001'];
    const tls = new TlsSource({ ...NO_FILES, caFile: path('ca.pem') });
    const client = systemTransport.openClient(JoinServiceClient, secureAddress, { tls });
    t.teardown(() => client.close());
    const request = { token: text, machineId, name: machineId, signingRequest: signingRequest(key, machineId) };
    const joined = await call(client, 'joinMachine', request, '');
    t.equal(joined.authority, '');
    const { certificate } = joined.certificate!;
    t.notOk(new X509Certificate(certificate).verify(new X509Certificate(made.certificate).publicKey));
    writeFileSync(path('machine.pem'), certificate);
    writeFileSync(path('machine.key'), key);
    const files = { caFile: path('ca.pem'), certFile: path('machine.pem'), certKeyFile: path('machine.key') };
    const secure = { ...core.replicas[0]!, address: secureAddress };
    const agent = await core.joinAgent({ machineId, agentKey: '', tls: new TlsSource(files) }, secure);
    t.match(await by(files, 'renewCertificate'), { certificate: {}, authority: '' });

    const serial = await serialAt(secureAddress);
    renew();
    await refresh();
    t.not(await serialAt(secureAddress), serial, 'a renewed one is taken');
    t.equal(agent.end, undefined, 'the session of the machine went on');
    t.match(await by(files, 'renewCertificate'), { certificate: {} });
  });

  await t.test('files that do not fit each other change nothing', async (t) => {
    const serial = await serialAt(secureAddress);
    writeFileSync(path('key.pem'), newPrivateKey());
    await refresh();
    t.equal(await serialAt(secureAddress), serial);
    t.ok(await by({ caFile: path('ca.pem') }));
    renew();
    await refresh();
    t.not(await serialAt(secureAddress), serial, 'until they do');
  });
});
