// test: postgres, 10 s
/**
 * The secret key is exchanged while core runs: both keys open, every sealed row is sealed anew, and the previous key is
 * needed until then. No sealed column may be forgotten.
 */
import { randomBytes } from 'node:crypto';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import { authorityKeyIdentity } from '@slipway/core/domain/settings/sealed-identity';
import { SEALED_COLUMNS } from '@slipway/core/store/accounts/sealed-columns';
import { openDatabase } from '@slipway/core/store/sql/database';
import { makeStores } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { systemTransport } from '@slipway/kit/net/channel';
import { JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import { TemplateServiceClient } from '@slipway/proto/gen/slipway/v1/template_service';
import postgres from 'postgres';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(300_000);

/** Columns of bytes that hold no sealed value. */
const NOT_SEALED = /_hash$|_fingerprint$|^(input|output|metrics|body)$/;
const newKey = (): string => randomBytes(32).toString('hex');

t.test('every column of bytes is sealed anew, or is known to hold nothing sealed', async (t) => {
  const { url } = await createDatabase(t);
  const sql = postgres(url, { max: 1 });
  t.teardown(() => sql.end());
  const rows = await sql<{ table: string; column: string }[]>`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'bytea' ORDER BY 1, 2`;
  const listed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted();
  const found = rows.filter(({ column }) => !NOT_SEALED.test(column)).map(({ table, column }) => `${table}.${column}`);
  t.same(found, listed, 'a new one goes into core/store/accounts/sealed-columns.ts');
  // Its statements are those of the tables: nothing is left of an empty database.
  const database = openDatabase(url, { logger });
  t.teardown(() => database.close());
  const store = makeStores(database, new Sealer(newKey()));
  t.same(await store.secretKeys.sealAnew(new AbortController().signal), { sealed: 0, damaged: 0 });
});

t.test('a value of either key opens, and the database says which one seals', async (t) => {
  const [old, next] = [newKey(), newKey()];
  const [before, both, after] = [new Sealer(old), new Sealer(old, next), new Sealer(next)];
  const value = before.seal(Buffer.from('x'), 'here');
  t.ok(both.use(after.fingerprint(), true));
  const anew = both.seal(Buffer.from('x'), 'here');
  for (const sealed of [value, anew]) {
    t.equal(both.open(sealed, 'here').toString(), 'x');
    t.throws(() => both.open(sealed, 'there'));
  }
  t.ok(anew.subarray(0, both.prefix().length).equals(both.prefix()));
  t.equal(after.open(anew, 'here').toString(), 'x');
  t.throws(() => after.open(value, 'here'));
  t.throws(() => before.open(anew, 'here'));
  t.same(both.hashes(Buffer.from('x'), 'p'), [after.hash(Buffer.from('x'), 'p'), before.hash(Buffer.from('x'), 'p')]);
  t.notOk(both.use(randomBytes(16), true), 'another key is none of its own');
});

t.test('an exchange while core runs', async (t) => {
  const [old, next] = [newKey(), newKey()];
  const core = await startReplicas(t, 1, { SLIPWAY_SECRET_KEY: old });
  const { sql, clients, key, rootKey } = core;
  const env = { PASSWORD: 'secret' };
  const templateId = await core.createTemplate({ env });
  const endpointId = await core.createEndpoint({
    templateId,
    env,
    workersMin: 0,
    webhookSecret: `whsec_${randomBytes(24).toString('base64')}`,
  });
  await core.submit(endpointId);
  const secretOf = (number: number) => ({ name: `s${number}`, value: `value ${number}`, description: '' });
  // More than one batch.
  for (let number = 0; number < 120; number += 1) await call(clients.secrets, 'createSecret', secretOf(number), key);
  // Core makes it when it speaks TLS.
  const authorityKey = new Sealer(old).seal(Buffer.from('a key'), authorityKeyIdentity());
  await sql`UPDATE installation SET authority_certificate = 'a certificate', authority_key_sealed = ${authorityKey}`;
  const joins = systemTransport.openClient(JoinServiceClient, core.replicas[0]!.address);
  t.teardown(() => joins.close());
  await t.rejects(call(joins, 'rotateSecretKey', {}, rootKey), /one secret key/, 'there is no other key');

  const startWith = async (secretKey: string, nextSecretKey = '') => {
    const config = readCoreConfig({
      SLIPWAY_DATABASE_URL: core.url,
      SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
      SLIPWAY_ROOT_KEY: rootKey,
      SLIPWAY_SECRET_KEY: secretKey,
      SLIPWAY_NEXT_SECRET_KEY: nextSecretKey,
    });
    const replica = buildCore(config, { logger });
    t.teardown(() => replica.stop());
    const { address } = await replica.start();
    const client = systemTransport.openClient(JoinServiceClient, address);
    const templates = systemTransport.openClient(TemplateServiceClient, address);
    t.teardown(() => {
      client.close();
      templates.close();
    });
    return { replica, client, templates };
  };
  const both = await startWith(old, next);
  const rotate = () => call(both.client, 'rotateSecretKey', {}, rootKey);
  await t.rejects(rotate(), /A replica of core has one secret key only/);
  await core.replicas[0]!.stop();
  await waitFor('the old replica to be gone', async () => {
    const rows =
      await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'slipway-core'`;
    return rows.length === 0;
  });
  const { state } = await rotate();
  t.match(state, { current: new Sealer(next).fingerprint().toString('hex'), next: '' });
  t.equal(state!.previous, new Sealer(old).fingerprint().toString('hex'));
  await t.rejects(rotate(), /still need the previous/);
  await t.rejects(startWith(next), { name: 'PreviousSecretKeyError' }, 'the old key may not be dropped yet');

  await waitFor('everything to be sealed anew', async () => {
    const { state: now } = await call(both.client, 'readSecretKeys', {}, rootKey);
    return now!.left.length === 0;
  });
  // The minute in which replicas learn of the exchange.
  await sql`UPDATE installation SET secret_key_rotated_at = now() - interval '2 min'`;
  await waitFor('the old key to be forgotten', async () => {
    const { state: now } = await call(both.client, 'readSecretKeys', {}, rootKey);
    return now!.previous === '';
  });
  const prefix = Buffer.concat([Buffer.of(2), new Sealer(next).fingerprint().subarray(0, 4)]);
  const filled: string[] = [];
  for (const { table, column } of SEALED_COLUMNS) {
    const rows = await sql<{ head: Buffer }[]>`
      SELECT substring(${sql(column)} FROM 1 FOR 5) AS head FROM ${sql(table)} WHERE ${sql(column)} IS NOT NULL`;
    if (rows.length > 0) filled.push(`${table}.${column}`);
    t.ok(
      rows.every(({ head }) => head.equals(prefix)),
      `${table}.${column}: ${rows.length} rows`,
    );
  }
  t.same(filled, [
    'template.env_sealed',
    'endpoint.env_sealed',
    'endpoint.webhook_secret_sealed',
    'secret.value_sealed',
    'installation.authority_key_sealed',
  ]);
  await both.replica.stop();
  await t.rejects(startWith(old), { name: 'WrongSecretKeyError' });
  const { templates } = await startWith(next);
  const read = await call(templates, 'listTemplates', { includePublic: false }, key);
  t.same(read.templates.find(({ id }) => id === templateId)!.env, env, 'what was sealed before opens');
  const [event] = await sql<
    { keyId: string }[]
  >`SELECT key_id AS "keyId" FROM audit_event WHERE action = 'RotateSecretKey'`;
  t.same(event, { keyId: 'root' });
});
