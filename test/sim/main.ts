/** `npm run sim`: simulates core on a real PostgreSQL, seed by seed, and checks each history. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadForSimulation } from './loader.ts';
import { PLANTED } from './planted.ts';

const HELP = readFileSync(new URL('./help.txt', import.meta.url), 'utf8');

const option = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({
  options: {
    ...{ seeds: option, minutes: option, from: option, jobs: option, trace: option, planted: option, report: option },
    ...{ only: option, shrink: option },
    ...{ twice: flag, slow: flag, kills: flag, json: flag, help: flag },
  },
});

function positive(name: 'seeds' | 'minutes' | 'from' | 'jobs', fallback: number): number {
  const value = Number(values[name] ?? fallback);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
}

/** Returns the runs that look for fewer faults. Default: 30; 0 if only a part of the faults happens. */
function shrinkRuns(): number {
  const runs = Number(values.shrink ?? (values.only === undefined ? 30 : 0));
  if (!(runs >= 0)) throw new Error('--shrink must be a number of 0 or more');
  return runs;
}

/** Returns the faults that may happen, by their index. `undefined`: all. */
function onlyThese(): ReadonlySet<number> | undefined {
  if (values.only === undefined) return undefined;
  if (values.only === 'none') return new Set();
  const numbers = values.only.split(',').map(Number);
  if (!numbers.every((index) => index > 0)) throw new Error('--only must be a list of numbers above 0, or none');
  return new Set(numbers);
}

/** Writes a file so that a reader never sees a part of it. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.part`, text);
  renameSync(`${file}.part`, file);
}

if (values.help) process.stdout.write(HELP);
else {
  const bug = PLANTED.find(({ name }) => name === values.planted);
  if (values.planted !== undefined && !bug) {
    const known = PLANTED.map(({ name }) => name).join(', ');
    throw new Error(`There is no planted bug "${values.planted}". Known are: ${known}.`);
  }
  // Core is imported after this.
  loadForSimulation(bug?.patches);
  const { runSeeds } = await import('./run-seeds.ts');
  const report = await runSeeds({
    seeds: positive('seeds', 10),
    minutes: positive('minutes', Infinity),
    from: positive('from', 1),
    jobs: positive('jobs', 100),
    twice: values.twice ?? false,
    slow: values.slow ?? false,
    kills: values.kills ?? false,
    keepsTrace: values.trace !== undefined,
    only: onlyThese(),
    shrinkRuns: shrinkRuns(),
    stopsAtFirst: bug !== undefined,
    onSeed: (text, soFar) => {
      process.stderr.write(`${text}\n`);
      if (values.report !== undefined) replaceFile(values.report, soFar().text);
    },
    ...(bug && { planted: bug.name }),
  });
  if (values.trace !== undefined) writeFileSync(values.trace, report.trace.join('\n'));
  process.stdout.write(values.json ? `${JSON.stringify({ ...report, trace: undefined })}\n` : report.text);
  const isFound = report.failures.length > 0;
  process.exit(isFound === (bug !== undefined) ? 0 : 1);
}
