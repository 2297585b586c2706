// test: 40 s
/**
 * Core under faults that a seed chooses: some seeds hold everything that must hold, the same seed twice is the same
 * run, and a planted bug is found. `npm run sim` runs more of them.
 */
import t from 'tap';
import { simulate } from './simulate.ts';

t.setTimeout(600_000);

// Each waits for its PostgreSQL most of the time, so both run at once.
const two = simulate('--seeds', '1', '--jobs', '20', '--twice');
const planted = simulate('--planted', 'request ids ignored', '--from', '4', '--seeds', '8', '--jobs', '30');
// Both are awaited by their subtests.
planted.catch(() => undefined);
const slow = simulate('--slow', '--seeds', '1', '--jobs', '20');
slow.catch(() => undefined);

t.test('nothing is lost under faults, and a seed repeats its run', async (t) => {
  const { code, report } = await two;
  t.same(report.failures, []);
  t.equal(code, 0);
  t.ok(report.kills > 0 && report.executions > 0, `${report.kills} kills, ${report.executions} executions`);
  t.comment(`${report.jobs} jobs, recovery in virtual seconds: ${JSON.stringify(report.recovery)}`);
});

t.test('a planted bug is found, and the report says how to repeat it', async (t) => {
  const { code, report } = await planted;
  t.equal(code, 0, 'the bug was found');
  t.match(report.failures[0]?.command, /^npm run sim -- --from \d+ --seeds 1 --jobs 30 --planted/);
  t.comment(`found by seed ${report.failures[0]?.seed} with ${report.kills} kills`);
});

t.test('a database that answers in 4 to 8 s for a minute is no outage', async (t) => {
  const { code, report } = await slow;
  t.same(report.failures, [], 'nothing is lost, and everything comes to its end');
  t.equal(code, 0);
  t.equal(report.givenUp, 0, 'nothing is given up');
  t.ok(report.closed < 40, `${report.closed} connections were closed; with a fixed limit there were 61`);
});
