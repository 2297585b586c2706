// test: 60 s
/**
 * Core under faults that a seed chooses: some seeds hold everything that must hold, the same seed twice is the same
 * run, and a planted bug is found. `npm run sim` runs more of them.
 */
import t from 'tap';
import { simulate } from './simulate.ts';

t.setTimeout(600_000);

const BUG = 'request ids ignored';

// Each waits for its PostgreSQL most of the time, so both run at once.
const two = simulate('--seeds', '1', '--jobs', '20', '--twice');
const planted = simulate('--kills', '--planted', BUG, '--seeds', '4', '--jobs', '6', '--shrink', '8');
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

t.test('a planted bug is found, and the report says how to repeat it with fewer faults', async (t) => {
  const { code, report } = await planted;
  t.equal(code, 0, 'the bug was found');
  const [failure] = report.failures;
  t.match(failure?.command, /^npm run sim -- --from \d+ --seeds 1 --jobs 6 --kills --planted/);
  const { faults, command } = failure!.shrunk!;
  t.ok(faults.length < failure!.chosen, `${faults.length} of ${failure!.chosen} faults are left`);
  const indexes = faults.map(({ index }) => index).join(',') || 'none';
  t.match(command, ` --only ${indexes} `);
  const seed = String(failure!.seed);
  const again = await simulate(
    '--kills',
    '--planted',
    BUG,
    '--from',
    seed,
    '--seeds',
    '1',
    '--jobs',
    '6',
    '--only',
    indexes,
  );
  t.equal(again.report.failures[0]?.violations[0]?.rule, failure!.violations[0]!.rule, 'these break the same rule');
  t.comment(`found by seed ${seed}`);
});

t.test('a database that answers in 4 to 8 s for a minute is no outage', async (t) => {
  const { code, report } = await slow;
  t.same(report.failures, [], 'nothing is lost, and everything comes to its end');
  t.equal(code, 0);
  t.equal(report.givenUp, 0, 'nothing is given up');
  t.ok(report.closed < 40, `${report.closed} connections were closed; with a fixed limit there were 61`);
});
