// test: 60 s
/**
 * Replicas are killed 2,000 times, most of them at a write of jobs, and nothing is lost. Small worlds of the same kind,
 * ten seeds, are the same run when they are run again.
 */
import t from 'tap';
import { simulate } from './simulate.ts';

t.setTimeout(3_600_000);

const KILLS_MIN = 2_000;
/** Seeds of each process, from the first one. */
const HALVES = [1, 4].map((from) => simulate('--kills', '--from', String(from), '--seeds', '3', '--jobs', '85'));
const TWICE = simulate('--kills', '--twice', '--from', '100', '--seeds', '10', '--jobs', '4');
// All are awaited by their subtests.
for (const run of [...HALVES, TWICE]) run.catch(() => undefined);

t.test('nothing is lost while replicas are killed 2,000 times', async (t) => {
  const reports = (await Promise.all(HALVES)).map(({ report }) => report);
  t.same(
    reports.flatMap(({ failures }) => failures),
    [],
  );
  // An agent or a facade that is killed has another name.
  const ofReplicas = reports.flatMap(({ faults }) =>
    Object.entries(faults).flatMap(([kind, count]) => (kind.startsWith('killed ') ? [count] : [])),
  );
  const kills = ofReplicas.reduce((sum, count) => sum + count, 0);
  t.ok(kills >= KILLS_MIN, `${kills} kills of replicas`);
  for (const { executions, jobs, recovery } of reports)
    t.comment(`${jobs} jobs, ${executions} executions, recovery in virtual seconds: ${JSON.stringify(recovery)}`);
});

t.test('ten seeds are the same run when they are run again', async (t) => {
  const { report } = await TWICE;
  t.equal(report.seeds, 10);
  t.same(report.failures, []);
  t.comment(`${report.kills} kills`);
});
