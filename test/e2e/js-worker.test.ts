// test: postgres
/** Return values of JavaScript handlers and the outputs that they become. */
import t from 'tap';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';

const system = await startSystem(t);
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
const ends = async (kind: string) => jobs.settled(await jobs.run({ mode: 'odd', kind }));

t.test('an object with toJSON', async (t) => {
  t.match(await ends('date'), { status: 'COMPLETED', output: '1970-01-01T00:00:00.000Z' });
});

t.test('nothing', async (t) => {
  const job = await ends('nothing');
  t.equal(job.status, 'COMPLETED');
  t.notOk('output' in job);
});

t.test("a result that is no JSON is the handler's error", async (t) => {
  const job = await ends('bigint');
  t.equal(job.status, 'FAILED');
  t.match(job.error, /BigInt/);
});

t.test('an Error under "error" fails the job with its text', async (t) => {
  const job = await ends('error');
  t.equal(job.status, 'FAILED');
  t.match(job.error, /returned, not thrown/);
});
