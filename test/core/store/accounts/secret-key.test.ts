// test: postgres
/**
 * The secret key belongs to its database: another key is rejected. Plaintext that an earlier release left is encrypted
 * and remains usable.
 */
import { randomBytes } from 'node:crypto';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import { InstallationStore, WrongSecretKeyError } from '@slipway/core/store/accounts/installation-store';
import { connect } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import { Sealer } from '@slipway/kit/host/seal';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../../helpers/pods/pod-calls.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const newKey = (): string => randomBytes(32).toString('hex');

t.test('another key is refused at start', async (t) => {
  const { url } = await createDatabase(t);
  const coreWith = (secretKey: string) => {
    const core = buildCore(
      readCoreConfig({ SLIPWAY_DATABASE_URL: url, SLIPWAY_CORE_LISTEN: '127.0.0.1:0', SLIPWAY_SECRET_KEY: secretKey }),
      { logger },
    );
    t.teardown(() => core.stop());
    return core;
  };
  const right = newKey();
  await coreWith(right).start();
  const message = /^SLIPWAY_SECRET_KEY is not the key .* Start with the key of its first start .*\.$/;
  await t.rejects(coreWith(newKey()).start(), { name: 'WrongSecretKeyError', message });
  await coreWith(right.toUpperCase()).start();
});

t.test('of keys registered at the same time, one stays', async (t) => {
  const { url } = await createDatabase(t);
  await migrate({ url }, logger);
  const sql = connect(url, 'test', 8, logger);
  t.teardown(() => sql.end({ timeout: 1 }));
  const sealers = Array.from({ length: 8 }, () => new Sealer(newKey()));
  const claims = await Promise.allSettled(
    sealers.map((sealer) => new InstallationStore({ sql }, sealer).claimSecretKey()),
  );
  t.equal(claims.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const claim of claims) if (claim.status === 'rejected') t.type(claim.reason, WrongSecretKeyError);
  const winner = sealers[claims.findIndex(({ status }) => status === 'fulfilled')]!;
  await new InstallationStore({ sql }, winner).claimSecretKey();
});

t.test('a database of an earlier release', async (t) => {
  const [right, wrong] = [newKey(), newKey()];
  const core = await startReplicas(t, 1, { SLIPWAY_SECRET_KEY: right });
  await core.joinAgent();
  const { sql, clients, key } = core;
  const env = { PASSWORD: 'marker-of-this-test' };
  const templateId = await core.createTemplate({ env });
  const endpointId = await core.createEndpoint({
    templateId,
    env,
    webhookSecret: `whsec_${randomBytes(24).toString('base64')}`,
  });
  const pods = podCalls(clients, key);
  const pod = await pods.create({ name: 'p', startCommand: ['sleep', '1'], computeType: 'CPU', env });
  const webhook = 'http://user:marker-of-this-test@127.0.0.1:9/';
  const job = await core.submit(endpointId);
  // As it was: everything in the clear, no fingerprint.
  for (const table of ['template', 'endpoint', 'pod'])
    await sql`UPDATE ${sql(table)} SET env = ${sql.json(env)}, env_sealed = NULL`;
  await sql`UPDATE job_input SET webhook = ${webhook}`;
  await sql`DELETE FROM installation`;
  const readEnvs = async () => {
    const { templates } = await call(clients.templates, 'listTemplates', { includePublic: false }, key);
    const { endpoints } = await call(clients.endpoints, 'listEndpoints', {}, key);
    return [templates.find(({ id }) => id === templateId)!.env, endpoints[0]!.env, (await pods.get(pod.id)).env];
  };
  t.same(await readEnvs(), [env, env, env], 'it is read in the clear');

  const installation = new InstallationStore({ sql: core.sql as never }, new Sealer(wrong));
  await t.rejects(installation.claimSecretKey(), WrongSecretKeyError, 'only the key that opens its secrets is taken');
  await core.startReplica();
  await waitFor(
    'everything to be sealed',
    async () => (await sql`SELECT FROM installation WHERE plain_sealed_at IS NOT NULL`).length === 1,
  );
  for (const table of ['template', 'endpoint', 'pod', 'job_input']) {
    const rows = await sql<{ row: string }[]>`SELECT t::text AS row FROM ${sql(table)} t`;
    t.ok(rows.length > 0);
    t.notMatch(rows.map(({ row }) => row).join('\n'), 'marker-of-this-test', table);
  }
  t.same(await readEnvs(), [env, env, env], 'and opened again');
  const [input] = await sql<{ sealed: Buffer }[]>`SELECT webhook_sealed AS sealed FROM job_input`;
  t.equal(new Sealer(right).open(input!.sealed, `job/${endpointId}/${job.id}/webhook`).toString(), webhook);
});
