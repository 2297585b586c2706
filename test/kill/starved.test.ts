// test: postgres, 50 s
/**
 * A host without processor time: all parts are stopped for 7.6 s of each 8 s while jobs arrive.
 * Connections and leases must not be given up again and again, and no job may be lost. SLIPWAY_TEST_STARVED is the
 * number of seconds.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';
import { starveWhile } from './starve.ts';

const STARVED_MS = Number(process.env.SLIPWAY_TEST_STARVED ?? 32) * 1_000;
/** Share of the time in which processes run. */
const SHARE = 0.05;
/** Jobs submitted at a time. */
const FEW = 2;
/**
 * Sessions that an agent may open meanwhile, and how often core may close the connections of its database. With a fixed
 * timeout of 5 s, core closes them in each period.
 */
const SESSIONS_MAX = 3;
const CLOSES_MAX = 3;

t.setTimeout(900_000);

t.test('processes run on if the test that starves them is killed', async (t) => {
  const sleeper = spawn('sleep', ['1000'], { stdio: 'ignore' });
  t.teardown(() => sleeper.kill('SIGKILL'));
  const stateOf = async (): Promise<string> =>
    (await readFile(`/proc/${sleeper.pid}/stat`, 'utf8')).replace(/^.*\) (\w).*$/s, '$1');
  const code = `import { starveWhile } from ${JSON.stringify(join(import.meta.dirname, 'starve.ts'))};
    await starveWhile(() => [${sleeper.pid}], ${SHARE}, () => new Promise(() => {}));`;
  const starving = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' });
  t.teardown(() => starving.kill('SIGKILL'));
  await waitFor('its stop', async () => (await stateOf()) === 'T');
  starving.kill('SIGKILL');
  await waitFor('its continuation', async () => (await stateOf()) === 'S');
});

t.test('a host without processor time loses no job, and agent and core do not reconnect again and again', async (t) => {
  const slipway = await startProcesses(t);
  const inFlight = await startJobs(t, slipway, { retryLimit: 10 });
  const linesOf = async (name: string, text: string): Promise<number> =>
    (await readFile(join(slipway.folder, `${name}.log`), 'utf8')).split('\n').filter((line) => line.includes(text))
      .length;
  const sessions = await linesOf('agent-1', 'session opened');
  const closed = async (): Promise<number> => linesOf('core-1', 'connections are closed and reopened');
  const closedBefore = await closed();
  const parts = [slipway.database, ...slipway.cores, ...slipway.facades, ...slipway.agents];
  const before = inFlight.acknowledged.size;
  await starveWhile(
    () => parts.map(({ pid }) => pid),
    SHARE,
    async () => {
      for (const endMs = performance.now() + STARVED_MS; performance.now() < endMs; ) await inFlight.submit(FEW);
    },
  );
  t.ok(inFlight.acknowledged.size > before, `${inFlight.acknowledged.size - before} jobs were accepted meanwhile`);
  const reconnects = (await linesOf('agent-1', 'session opened')) - sessions;
  t.ok(reconnects <= SESSIONS_MAX, `the agent opened ${reconnects} sessions`);
  const closes = (await closed()) - closedBefore;
  t.ok(closes <= CLOSES_MAX, `core closed its connections ${closes} times`);
  await checkOutcomes(t, inFlight);
});
