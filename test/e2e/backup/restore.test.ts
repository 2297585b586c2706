// test: postgres, 20 s
/**
 * A restore drill under load, with real processes: jobs before, a backup by the command line, jobs after, core gone, a
 * restore into another database, core on that one. Each job that was accepted before the backup is there with its
 * outcome, or runs again; none that came after it is there.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const ENDED_MS_MAX = 120_000;
/** Jobs that end before the backup, and jobs that run or wait during it. */
const [EARLY, HELD] = [10, 10];

t.test('jobs accepted before the backup survive the restore', async (t) => {
  const secretKey = randomBytes(32).toString('hex');
  const env: Record<string, string> = { SLIPWAY_SECRET_KEY: secretKey };
  let url = '';
  const slipway = await startProcesses(t, {
    env,
    databaseUrl: async (given) => {
      url = given;
      return given;
    },
  });
  const { folder, sql } = slipway;
  const id = await slipway.createEndpoint({
    command: jsHandler('in-flight.js'),
    fields: { workersMin: 1 },
    workersMax: 1,
  });
  const jobs = endpointJobs(slipway, id);
  const [open, shut, notes] = ['open', 'shut', 'notes'].map((name) => join(folder, name)) as [string, string, string];
  await writeFile(open, '');
  const run = (number: number, gate: string): Promise<string> => jobs.run({ number, ms: 0, gate, notes });
  const early = await Promise.all(Array.from({ length: EARLY }, (_, number) => run(number, open)));
  for (const job of early) await jobs.reached(job, 'COMPLETED', ENDED_MS_MAX);
  const held = await Promise.all(Array.from({ length: HELD }, (_, at) => run(EARLY + at, shut)));
  const before = [...early, ...held];

  const cli = commandLine(t, { SLIPWAY_DATABASE_URL: url, SLIPWAY_SECRET_KEY: secretKey });
  const during: string[] = [];
  let loads = true;
  const load = (async () => {
    for (let number = 1_000; loads && during.length < 200; number += 1) during.push(await run(number, shut));
  })();
  await waitFor('load', () => during.length > 0);
  const saved = await cli.start('backup', '--to', 'drill.backup').ended;
  t.match(saved, { code: 0, stderr: /job: \d+ rows[^]*queued and \d+ running jobs run after a restore/ });
  loads = false;
  await load;
  const after = await Promise.all(Array.from({ length: 5 }, (_, at) => run(2_000 + at, shut)));

  await slipway.cores[0]!.kill();
  await sql`CREATE DATABASE restored`;
  const restored = new URL(url);
  restored.pathname = 'restored';
  const back = await commandLine(t, { SLIPWAY_DATABASE_URL: restored.href, SLIPWAY_SECRET_KEY: secretKey }).start(
    'restore',
    '--from',
    join(cli.cwd, 'drill.backup'),
  ).ended;
  t.match(back, { code: 0, stderr: /Restored\. Start core/ });
  env['SLIPWAY_DATABASE_URL'] = restored.href;
  await slipway.cores[0]!.start();
  await writeFile(shut, '');

  for (const job of before) await jobs.reached(job, 'COMPLETED', ENDED_MS_MAX);
  const known = postgres(restored.href, { max: 1 });
  t.teardown(() => known.end());
  const there = new Set((await known<{ id: string }[]>`SELECT id FROM job`).map((row) => row.id));
  t.same(
    before.filter((job) => !there.has(job)),
    [],
    'all of before',
  );
  t.same(
    after.filter((job) => there.has(job)),
    [],
    'none of after',
  );
  t.same(
    [...there].filter((job) => ![...before, ...during].includes(job)),
    [],
    'nothing else',
  );
  t.match(await jobs.runSync({ number: 3_000, ms: 0, gate: open, notes }), { status: 'COMPLETED' }, 'new jobs run');
});
