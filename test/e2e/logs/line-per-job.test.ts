// test: postgres, 15 s
/** At the default level a job leaves one line in the logs of all processes, however it ends; a flood leaves a count. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { receiveTraces } from '../../helpers/grpc/otlp.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

type Line = Record<string, unknown> & { msg: string };

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traced = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
/** Lines of a sentence about an endpoint in ten seconds. */
const OF_ENDPOINT_MAX = 20;
const collector = await receiveTraces(t);
const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
const system = await startProcesses(t, { env: variables, agentEnv: variables });
const talker = { command: jsHandler('talker.js'), workersMax: 1 };
const linesOf = (process: string): Line[] =>
  readFileSync(join(system.folder, `${process}.log`), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
const allLines = (): Line[] => ['core-1', 'facade', 'agent-1'].flatMap(linesOf);
/** Waits for the first line about a job. */
const lineOf = (jobId: string): Promise<Line> =>
  waitFor('its line', () => allLines().find((line) => line['jobId'] === jobId));

t.test('one line for each end of a job', async (t) => {
  const endpointId = await system.createEndpoint(talker);
  const jobs = endpointJobs(system, endpointId);
  const never = { words: ['x'], gate: join(system.folder, 'never') };
  const isRunning = { inProgress: 1 };

  const completed = await jobs.run({ words: [] }, {}, traced);
  await jobs.settled(completed);
  const early = (await jobs.runSync({ words: [] })).id;
  const failed = await jobs.run({ words: 'none' }, {}, traced);
  await jobs.settled(failed);
  const cancelled = await jobs.run(never);
  await jobs.counted(isRunning);
  await jobs.cancel(cancelled);
  const timedOut = await jobs.run(never);
  await jobs.counted(isRunning);
  await system.sql`UPDATE job SET execution_deadline_at = now() WHERE id = ${timedOut}`;
  await jobs.settled(timedOut);
  const expired = await jobs.run(never);
  await jobs.counted(isRunning);
  await system.sql`UPDATE job SET expires_at = now() WHERE id = ${expired}`;
  await jobs.gone(expired);

  const ran = { endpointId, attempt: 1, workerId: /^\w{14}$/ };
  const ended = { ...ran, delayMs: /^\d+$/, executionMs: /^\d+$/ };
  const wanted: [id: string, line: object][] = [
    [completed, { ...ended, msg: 'job completed', state: 'COMPLETED', trace_id: TRACE }],
    [early, { ...ended, msg: 'job completed', state: 'COMPLETED' }],
    [failed, { ...ended, msg: 'job not completed', state: 'FAILED', trace_id: TRACE }],
    [cancelled, { ...ended, msg: 'job not completed', state: 'CANCELLED' }],
    [timedOut, { ...ended, msg: 'job not completed', state: 'TIMED_OUT' }],
    [expired, { endpointId, attempt: 1, machineId: /./, msg: 'job expired before it ended' }],
  ];
  for (const [id, line] of wanted) t.match(await lineOf(id), line);
  const all = allLines();
  for (const [id] of wanted)
    t.same(
      all.filter((line) => JSON.stringify(line).includes(id)).map(({ msg }) => msg),
      [(await lineOf(id)).msg],
    );
});

t.test('a flood of completed jobs leaves some lines and a count, and hides no failed job', async (t) => {
  const endpointId = await system.createEndpoint(talker);
  const jobs = endpointJobs(system, endpointId);
  const ids = await Promise.all(Array.from({ length: 100 }, () => jobs.run({ words: [] })));
  for (const id of ids) await jobs.settled(id);
  const failed = await jobs.run({ words: 'none' });
  t.match(await lineOf(failed), { msg: 'job not completed', state: 'FAILED' });
  const msg = 'more lines of the same were left out';
  const isLeft = (line: Line): boolean => line.msg === msg && line['endpointId'] === endpointId;
  const left = (): number => allLines().reduce((sum, line) => sum + (isLeft(line) ? Number(line['lines']) : 0), 0);
  const written = (): number =>
    allLines().filter((line) => line['endpointId'] === endpointId && line.msg === 'job completed').length;
  await waitFor('each job to be a line or counted', () => written() + left() === ids.length);
  t.ok(written() >= OF_ENDPOINT_MAX && left() > 0, `${written()} lines and ${left()} counted`);
  t.match(allLines().find(isLeft), { of: 'job completed', seconds: 10 });
});
