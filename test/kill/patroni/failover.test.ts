// test: kubernetes, patroni, 40 s
/**
 * Two nodes of PostgreSQL, kept by Patroni: the primary is killed while jobs run, the other one takes over, and the
 * killed one returns as its standby without any step by hand. Meanwhile requests get 503 with Retry-After. Then the
 * roles are switched back. No acknowledged job is lost or doubled.
 */
import postgres from 'postgres';
import t from 'tap';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from '../jobs-in-flight.ts';
import { skipWithoutPatroni, startCluster } from './cluster.ts';

/** Jobs that are submitted during each change of the primary. */
const JOBS = 40;
const MEND_MS_MAX = 180_000;

t.setTimeout(600_000);

t.test('the primary is killed while jobs run', { skip: skipWithoutPatroni() }, async (t) => {
  const { nodes, primary, isWhole, url } = await startCluster(t, { limits: 'patient' });
  const admin = postgres(url('postgres'), { max: 1 });
  await admin`CREATE DATABASE slipway`;
  await admin.end();
  const processes = await startProcesses(t, { databaseUrl: async () => url('slipway') });
  const sql = postgres(url('slipway'), { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  const slipway = { ...processes, sql };
  const inFlight = await startJobs(t, slipway, { retryLimit: 10 });
  const core = slipway.cores[0]!.pid;

  const node = await waitFor('the primary', primary);
  const other = nodes.find((each) => each !== node)!;
  // Patroni is stopped until a request was refused. Otherwise the standby may take over before that.
  node.signalPatroni('SIGSTOP');
  node.signalDatabase('SIGKILL');
  const submitting = inFlight.submit(JOBS);
  const base = `/v2/${inFlight.endpointId}`;
  const [, someJob] = [...inFlight.acknowledged][0]!;
  const body = { input: { number: -1, ms: 0, gate: slipway.folder, notes: `${inFlight.folder}/others` } };
  const submit = () => slipway.request('POST', `${base}/run`, body, { 'idempotency-key': 'refused' });
  for (const [name, send] of [
    ['a job', submit],
    ['a status', () => slipway.request('GET', `${base}/status/${someJob}`)],
    ['a list', () => slipway.request('GET', '/v1/endpoints')],
  ] as const) {
    const { status, headers } = await waitFor(`${name} to be refused`, async () => {
      const answer = await send();
      return answer.status !== 200 && answer;
    });
    t.equal(status, 503, name);
    t.ok(Number(headers.get('retry-after')) >= 1, `${name}: Retry-After`);
  }

  node.signalPatroni('SIGCONT');
  await waitFor('the other one to be the primary', async () => (await other.role()) === 'primary', MEND_MS_MAX);
  const accepted = await waitFor('the refused job to be accepted', async () => {
    const answer = await submit();
    return answer.status === 200 && answer.json.id;
  });
  t.equal((await submit()).json.id, accepted, 'once, however often it is sent');
  await submitting;
  await waitFor('the killed one to be a synchronous standby', isWhole, MEND_MS_MAX);
  t.equal(await other.role(), 'primary', 'and the other one stays the primary');

  const more = inFlight.submit(JOBS);
  await other.switchOver(node);
  await waitFor('the first one to be the primary again', async () => (await node.role()) === 'primary', MEND_MS_MAX);
  await more;
  await waitFor('a synchronous standby again', isWhole, MEND_MS_MAX);
  t.equal(slipway.cores[0]!.pid, core, 'core was not restarted');
  await checkOutcomes(t, inFlight, 1);
});
