// test: 40 s
/**
 * Core under faults that a seed chooses: some seeds hold everything that must hold, the same seed twice is the same
 * run, and a planted bug is found. `npm run sim` runs more of them.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { SeedsReport } from './run-seeds.ts';

t.setTimeout(600_000);

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Runs seeds in a process of their own, whose time is virtual. */
function run(...args: string[]): Promise<{ code: number | string | null | undefined; report: SeedsReport }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [MAIN, '--json', ...args], { maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr));
      else resolve({ code: error === null ? 0 : error.code, report: JSON.parse(stdout) as SeedsReport });
    });
  });
}

// Each waits for its PostgreSQL most of the time, so both run at once.
const two = run('--seeds', '1', '--jobs', '20', '--twice');
const planted = run('--planted', 'request ids ignored', '--from', '4', '--seeds', '8', '--jobs', '30');
// Both are awaited by their subtests.
planted.catch(() => undefined);
const slow = run('--slow', '--seeds', '1', '--jobs', '20');
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
