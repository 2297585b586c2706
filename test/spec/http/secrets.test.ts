// test: postgres
/**
 * Secrets (docs/reference/api.md#s3-settings, docs/reference/api.md#keys): s3Config reaches only the worker; keys are
 * stored hashed; neither is logged.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

/** All log lines of all parts, at the finest level and without redaction, so that a secret would be seen. */
const lines: string[] = [];
const logger = pino(
  { level: 'trace' },
  new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(line.toString());
      done();
    },
  }),
);

const system = await startSystem(t, { logger });
const rows = jobRows(t, system.database.url);
const hooks = await webhookReceiver(t);
const webhookSecret = `whsec_${randomBytes(24).toString('base64')}`;
const command = jsHandler('all.js');
const secret = (): string => `secret-${randomBytes(12).toString('hex')}`;
const given = {
  templateEnv: secret(),
  endpointEnv: secret(),
  podEnv: secret(),
  webhookPassword: secret(),
  webhookToken: secret(),
};
const jobs = endpointJobs(
  system,
  await system.createEndpoint({
    command,
    fields: { webhookSecret, env: { OF_ENDPOINT: given.endpointEnv } },
    env: { OF_TEMPLATE: given.templateEnv },
    retryLimit: 0,
  }),
);
const s3Config = {
  accessId: secret(),
  accessSecret: secret(),
  bucketName: 'results',
  endpointUrl: 'https://s3.example.com',
  objectPath: 'a/b',
};
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Values that must not appear anywhere. */
const SECRETS = {
  accessSecret: s3Config.accessSecret,
  accessId: s3Config.accessId,
  key: system.key,
  agentKey: system.agentKey,
  rootKey: system.rootKey,
  webhookSecret: webhookSecret.slice('whsec_'.length),
  ...given,
};

/** Returns the rows of all tables as text. */
async function dump(): Promise<string> {
  const tables = await rows.sql<{ name: string }[]>`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;
  const texts: string[] = [];
  for (const { name } of tables) {
    const found = await rows.sql.unsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${name} t`);
    texts.push(...found.map(({ row }) => row));
  }
  return texts.join('\n');
}

const submitted = await jobs.call('POST', '/runsync', { input: { mode: 's3' }, s3Config, webhook: hooks.url('done') });
const { id } = submitted.json;
const failing = await jobs.run({ mode: 'exit' }, { s3Config });
const pods = podCalls(system.clients, system.key);
const pod = await pods.create({
  name: 'p',
  startCommand: ['sleep', '600'],
  env: { OF_POD: given.podEnv },
  computeType: 'CPU',
});
/** Nobody listens there, so its call waits for the next try. */
const calling = await jobs.run(
  { mode: 'echo' },
  { webhook: `http://user:${given.webhookPassword}@127.0.0.1:9/?token=${given.webhookToken}` },
);

t.test('s3Config reaches the worker', async (t) => {
  t.match(submitted.json, { status: 'COMPLETED' });
  t.same(submitted.json.output, {
    ...s3Config,
    accessId: digest(s3Config.accessId),
    accessSecret: digest(s3Config.accessSecret),
  });
});

t.test('s3Config is in no answer', async (t) => {
  const record = await jobs.reached(failing, 'FAILED', 30_000);
  const answers = [JSON.stringify(record)];
  for (const path of [`/status/${id}`, `/status-sync/${id}`, `/stream/${id}`, '/requests', '/health'])
    answers.push((await jobs.call('GET', path)).text);
  answers.push((await jobs.call('POST', `/cancel/${id}`)).text, (await jobs.call('POST', `/retry/${failing}`)).text);
  answers.push((await hooks.received('done')).body);
  for (const answer of answers) {
    t.notMatch(answer, 's3Config');
    t.notMatch(answer, s3Config.accessSecret);
  }
});

t.test('a rejected submission does not echo s3Config', async (t) => {
  const answer = await jobs.call('POST', '/run', { input: {}, s3Config: { ...s3Config, bucketName: 5 } });
  t.equal(answer.status, 400);
  t.notMatch(answer.text, s3Config.accessSecret);
});

t.test('the database holds no secret in plaintext', async (t) => {
  await pods.update(pod.id, { env: { OF_POD: given.podEnv, MORE: given.podEnv } });
  await jobs.reached(calling, 'COMPLETED');
  t.equal((await rows.sql`SELECT FROM webhook_delivery WHERE job_id = ${calling}`).length, 1, 'a call is waiting');
  const text = await dump();
  t.match(text, id, 'the dump holds the job');
  for (const [name, value] of Object.entries(SECRETS)) {
    t.notOk(text.includes(value), `${name} as text`);
    t.notOk(text.includes(Buffer.from(value).toString('hex')), `${name} as bytes`);
  }
});

t.test('the same value is sealed differently each time', async (t) => {
  const sealed = await rows.sql<
    { s3_config_sealed: Buffer }[]
  >`SELECT s3_config_sealed FROM job_input WHERE s3_config_sealed IS NOT NULL`;
  t.equal(sealed.length, 2);
  t.notOk(sealed[0]!.s3_config_sealed.equals(sealed[1]!.s3_config_sealed));
});

t.test('keys are stored as SHA-256', async (t) => {
  for (const key of [system.key, system.agentKey]) {
    const hash = createHash('sha256').update(key).digest();
    t.equal((await rows.sql`SELECT 1 FROM api_key WHERE secret_hash = ${hash}`).length, 1);
  }
});

t.test('no log line holds a secret', async (t) => {
  await fetch(`${system.url}${jobs.base}/health?api_key=${system.key}`);
  t.ok(lines.length > 0, 'something was logged');
  const log = lines.join('');
  for (const [name, value] of Object.entries(SECRETS)) t.notOk(log.includes(value), name);
});
