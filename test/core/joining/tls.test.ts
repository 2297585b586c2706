// test: postgres
/** Core by TLS with a certificate of the installation's own authority. */
import { randomBytes } from 'node:crypto';
import type { ServiceError } from '@grpc/grpc-js';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import { createLogger } from '@slipway/kit/log/logger';
import { systemTransport } from '@slipway/kit/net/channel';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { explainConnection } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import { DAY_MS } from '@slipway/kit/tls/authority';
import { AccessServiceClient } from '@slipway/proto/gen/slipway/v1/access_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { digestAt } from '../../helpers/net/authority-at.ts';

const rootKey = randomBytes(24).toString('hex');
const secretKey = randomBytes(32).toString('hex');

/** Starts a replica that speaks TLS at its second address. */
async function startCore(t: Test, url: string, env: Record<string, string> = {}, clock: Clock = systemClock) {
  const config = readCoreConfig({
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0',
    SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_SECRET_KEY: secretKey,
    ...env,
  });
  const core = buildCore(config, { logger: createLogger('test', 'silent'), clock });
  t.teardown(() => core.stop());
  return core.start();
}

/** Makes an account by a connection. Returns `done`, or what the failure is explained as. */
async function createBy(address: string, trust: Partial<TlsFiles> = {}): Promise<string> {
  const tls = new TlsSource({ caFile: '', certFile: '', certKeyFile: '', ...trust });
  const client = systemTransport.openClient(AccessServiceClient, address, { tls });
  try {
    await call(client, 'createAccount', { name: 'test' }, rootKey);
    return 'done';
  } catch (error) {
    const { details } = (error as Error).cause as ServiceError;
    return explainConnection(details, address) ?? details;
  } finally {
    client.close();
  }
}

t.test('two replicas that start together on a new database have one authority', async (t) => {
  const { url } = await createDatabase(t);
  const [one, two] = await Promise.all([startCore(t, url), startCore(t, url)]);
  t.match(one.address, /^127/);
  t.match(one.secureAddress, /^grpcs:\/\/127/);
  const digest = await digestAt(one.secureAddress);
  const caDigests = ['f'.repeat(64), digest];
  t.equal(await digestAt(two.secureAddress), digest);
  t.equal(await createBy(one.secureAddress, { caDigests }), 'done');
  t.equal(await createBy(two.secureAddress, { caDigests }), 'done');
  t.equal(await createBy(one.address), 'done', 'plain text on loopback');
  t.match(
    await createBy(one.secureAddress, { caDigests: ['0'.repeat(64)] }),
    /another installation, or an attacker in between/,
  );
  t.match(await createBy(one.secureAddress), /authority that is not trusted here/);
  t.match(await createBy(one.secureAddress.slice('grpcs://'.length)), /where TLS is spoken the address is grpcs/);
  t.match(await createBy(`grpcs://${one.address}`, { caDigests }), /does not speak TLS/);
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const [row] = await sql`SELECT authority_certificate, authority_key_sealed FROM installation`;
  t.match(row!['authority_certificate'], /BEGIN CERTIFICATE/);
  t.notMatch((row!['authority_key_sealed'] as Buffer).toString('latin1'), /PRIVATE KEY/, 'the key is sealed');
});

t.test('a core whose clock is two days ahead, or a hundred behind', async (t) => {
  for (const [days, cause] of [
    [2, /is not valid yet, or the clock of this machine or of that one is wrong/],
    [-100, /has expired, or the clock of this machine or of that one is wrong/],
  ] as const) {
    const { url } = await createDatabase(t);
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + days * DAY_MS };
    const { secureAddress } = await startCore(t, url, {}, clock);
    t.match(await createBy(secureAddress, { caDigests: [await digestAt(secureAddress)] }), cause);
  }
});

t.test('plain text', async (t) => {
  const listen = (env: Record<string, string>) =>
    readCoreConfig({ SLIPWAY_DATABASE_URL: 'postgres://x', SLIPWAY_SECRET_KEY: secretKey, ...env }).listen;
  t.same(listen({}), [{ address: '127.0.0.1:50051', secure: false }]);
  const everywhere = { SLIPWAY_CORE_LISTEN: '0.0.0.0:1,[::1]:2,grpcs://localhost:3,core.example:4' };
  t.same(
    listen(everywhere).map(({ secure }) => secure),
    [true, false, true, true],
  );
  t.same(
    listen({ ...everywhere, SLIPWAY_CORE_PLAINTEXT: 'true' }).map(({ secure }) => secure),
    [false, false, true, false],
  );
});
