/** `npm run fleet`: fleets of several sizes, one after the other, and how figures grow; or scalers side by side. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Database } from '@slipway/tools/bench/database';
import { startDatabase } from '@slipway/tools/bench/database';
import { statementTable } from '../helpers/db/statement-table.ts';
import { measureAtOnce, measureDecisions } from './decisions.ts';
import type { FleetLengths } from './lengths.ts';
import { HUNDREDTHS, quantilesOf } from './lengths.ts';
import type { FleetMeasures, Row } from './measure-fleet.ts';
import { measureFleet } from './measure-fleet.ts';
import { measureLoads } from './measure-loads.ts';
import type { MeasuredCore } from './measured-core.ts';
import { startMeasured } from './measured-core.ts';
import { matches, matchRecorded, matchTable, wins } from './scalers.ts';
import { LARGE_MODEL } from './traces.ts';

const HELP = `npm run fleet -- [options]

Simulates machines over the real session protocol against a real core and PostgreSQL, each in a process of its own, and prints what grows with what.

  --machines <n,n,…>   sizes, one after the other (default 25,50,100)
  --endpoints <n>      for each machine (default 1.5)
  --workers <n>        that there may be, for each machine (default 10)
  --jobs <n>           of a burst with Zipf load, for each machine (default 10), besides those that keep all workers busy before
  --starts <file>      recorded cold starts, one length in milliseconds a line, and
  --pulls <file>       of images; without these hundredths of usual ones
  --seed <n>           default 1
  --scalers            instead: the SLO scaler beside QUEUE_DELAY over modelled loads; exits 1 where it does not win
  --trace <file>       instead: the same over a recorded load, a job a line: when it was submitted and how long it ran, in milliseconds; or as several
                       are published (docs/contribute/lab/loads.md), from whose tokens the length of a job is worked out
  --target <seconds>   of the SLO scaler there (default 10); --starts has its cold starts (without it some of 15 to 40 s)
  --only <text>        of the lines of that record only those that hold it
  --every <n>          one of so many of its jobs
  --from, --until <n>  a part of it, in minutes
  --statements <n>     print the n statements that PostgreSQL spent most on, too
  --profile <folder>   write what core's processor did there, for a browser's profiler
  --decisions <n>      instead: how soon a decision follows its condition at so many endpoints that sleep, and what that costs
  --cores <n>          replicas of core there, to which jobs and machines are spread (default 1)
  --at-once <n>        instead: the same when so many endpoints get their first job at once
  --loads <n>          instead: loads of every shape over so many endpoints (1000): a trickle, a flood of one account beside it, a steady rate by Zipf, a ramp,
                       a burst from zero, drains; with --machines and --workers (for each machine) it is one fleet (default 200 and 25)
  --seconds <n>        how long the steady rate and the ramp last there (default 120)
  --rate <n>           jobs a second of the steady rate there (default 100)
  --help               this text
`;
/** Assumed cold starts for recorded loads without any, in milliseconds. */
const USUAL_STARTS = [15_000, 18_000, 20_000, 24_000, 40_000];

/** Returns one column per fleet, one line per figure. */
function table(rows: readonly Row[]): string {
  const names = Object.keys(rows[0] ?? {});
  const width = Math.max(...names.map((name) => name.length));
  return names
    .map((name) => [name.padEnd(width), ...rows.map((row) => String(row[name]).padStart(9))].join('  '))
    .join('\n');
}

async function main(): Promise<void> {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      machines: option,
      endpoints: option,
      workers: option,
      jobs: option,
      seed: option,
      starts: option,
      pulls: option,
      trace: option,
      target: option,
      only: option,
      every: option,
      from: option,
      until: option,
      decisions: option,
      cores: option,
      'at-once': option,
      loads: option,
      seconds: option,
      rate: option,
      statements: option,
      profile: option,
      scalers: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  const seed = positive('--seed', values.seed, 1);
  if (values.trace !== undefined) {
    const starts = values.starts === undefined ? USUAL_STARTS : quantilesOf(readFileSync(values.starts, 'utf8'));
    const minutes = (name: 'from' | 'until', fallback: number): number =>
      values[name] === undefined ? fallback : Number(values[name]) * 60_000;
    const every = positive('--every', values.every, 1);
    const cut = {
      only: values.only ?? '',
      every,
      offset: 0,
      fromMs: minutes('from', 0),
      untilMs: minutes('until', Infinity),
    };
    const match = matchRecorded(readFileSync(values.trace, 'utf8'), starts, {
      seed,
      target: positive('--target', values.target, 10),
      cut,
    });
    if (!wins(match)) process.exitCode = 1;
    return console.log(matchTable([match]));
  }
  if (values.scalers) {
    const seeds = [seed, seed + 1, seed + 2];
    const [usual, large] = [matches(seeds), matches(seeds, LARGE_MODEL)];
    if (![...usual, ...large].every(wins)) process.exitCode = 1;
    return console.log(
      `Jobs of 6 s, starts of 20 s\n${matchTable(usual)}\n\nJobs of 2 s, starts of 60 s\n${matchTable(large)}`,
    );
  }
  const machines = (values.machines ?? '25,50,100').split(',').map((text) => positive('--machines', text, 1));
  const options = {
    machines,
    seed,
    endpoints: positive('--endpoints', values.endpoints, 1.5),
    workers: positive('--workers', values.workers, 10),
    jobs: positive('--jobs', values.jobs, 10),
    lengths: { ...HUNDREDTHS, ...recorded('startMs', values.starts), ...recorded('pullMs', values.pulls) },
    statements: values.statements === undefined ? 0 : positive('--statements', values.statements, 0),
    profile: values.profile,
  };
  const database = await startDatabase(
    options.statements > 0 ? { shared_preload_libraries: 'pg_stat_statements' } : {},
  );
  const rows: Row[] = [];
  try {
    const atOnce = values['at-once'];
    if (atOnce !== undefined) {
      return await printed(database, options, (core) =>
        measureAtOnce(core, database.pid, positive('--at-once', atOnce, 500), seed),
      );
    }
    if (values.decisions !== undefined) {
      const cores = positive('--cores', values.cores, 1);
      return await printed(
        database,
        options,
        (core) => measureDecisions(core, positive('--decisions', values.decisions, 1_000), seed),
        cores,
      );
    }
    if (values.loads !== undefined) {
      const size = {
        seed,
        lengths: options.lengths,
        endpoints: positive('--loads', values.loads, 1_000),
        machines: positive('--machines', values.machines, 200),
        workers: positive('--workers', values.workers, 25),
        seconds: positive('--seconds', values.seconds, 120),
        perSecond: positive('--rate', values.rate, 100),
      };
      return await printed(database, options, (core) => measureLoads(core, size));
    }
    for (const size of machines) {
      process.stderr.write(`· ${size} machines\n`);
      rows.push(await measureFleet(database, size, options));
    }
    console.log(table(rows));
  } finally {
    await database.stop();
  }
  if (rows.some(({ faults }) => faults !== 0)) process.exitCode = 1;
}

/** Prints figures measured at a new core, or several. */
async function printed(
  database: Database,
  { statements, profile }: FleetMeasures,
  measure: (core: MeasuredCore) => Promise<string>,
  cores = 1,
): Promise<void> {
  const measured = await startMeasured(database, profile, cores);
  try {
    console.log(await measure(measured));
    if (statements > 0) console.log(await statementTable(measured.sql, statements));
  } finally {
    await measured.stop();
  }
}

function recorded(name: keyof FleetLengths, file: string | undefined): Partial<FleetLengths> {
  return file === undefined
    ? {}
    : { [name]: quantilesOf(readFileSync(file, 'utf8')), ...(name === 'startMs' && { speed: 1 }) };
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`${name} must be a number above 0`);
  return value;
}

await main();
