/** Options of the bench. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './child.ts';

/** Parts of the bench, in the order in which they run. */
export const PARTS = [
  'ceilings',
  'run',
  'runsync',
  'drain',
  'memory',
  'graphql',
  'containers',
  'lb',
  'tables',
  'python',
  'long-queue',
  'reading',
  'neighbours',
  'batches',
  'floods',
  'overload',
  'sizes',
  'traces',
  'costs',
  'replicas',
  'steady',
] as const;
export type Part = (typeof PARTS)[number];
/** Scenarios of the race by number. */
const NUMBERED: Readonly<Record<string, Part>> = {
  P1: 'runsync',
  P2: 'run',
  P3: 'drain',
  P4: 'long-queue',
  P5: 'reading',
  P6: 'python',
  P7: 'neighbours',
  P8: 'sizes',
};
/** Parts in which peers take part, and parts that the race measures for Slipway alone. */
export const RACED: readonly Part[] = ['runsync', 'run', 'drain', 'long-queue'];
export const BESIDE_RACE: readonly Part[] = ['ceilings', 'reading', 'python', 'neighbours', 'sizes'];
/**
 * Longest round of the race, in seconds. Results of /runsync are checked after each round and are kept for a minute.
 */
export const RACE_SECONDS_MAX = 40;

/** Options. HELP explains them. */
export interface Options {
  only: readonly Part[];
  seconds: number;
  rounds: number;
  json: boolean;
  /** Races other job queues instead. */
  peers: boolean;
  /** Compares with this checkout and these variables of its programs instead. */
  beside: { root: string; env: Record<string, string> } | undefined;
  /** Jobs of a drain in the race. */
  drainJobs: number;
  /** Finished jobs of the part `tables`. A tenth as many are queued. */
  tableJobs: number;
  /** Jobs behind the drain of the part `long-queue`. */
  queuedJobs: number;
  /** Least age of the open transaction of the part `long-queue` when workers come, in seconds. */
  openSeconds: number;
  /** Endpoints of the part `neighbours`. */
  endpoints: number;
  /** Readers of streams in the part `reading`. */
  readers: number;
  /** Length of the part `steady`, in minutes. */
  minutes: number;
  /** Base name of two files, .md and .json, that the report is also written to. */
  report: string | undefined;
  /** Comma-separated texts: part `floods` measures the floods whose names contain one of them. Empty: all. */
  floods: string;
  /** Folder for CPU profiles of core, facade and agent; `undefined` if none are taken. */
  profile: string | undefined;
}

/** Text of `--help`, a file so that it can be shown before anything is installed. */
export const HELP = readFileSync(new URL('./help.txt', import.meta.url), 'utf8');

/** Reads the command line. Throws an Error whose text is for the user. */
export function readOptions(argv: string[]): Options | 'help' {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      profile: { type: 'string' },
      'drain-jobs': { type: 'string' },
      'table-jobs': { type: 'string' },
      'queued-jobs': { type: 'string' },
      endpoints: { type: 'string' },
      readers: { type: 'string' },
      minutes: { type: 'string' },
      'open-seconds': { type: 'string' },
      floods: { type: 'string' },
      report: { type: 'string' },
      json: { type: 'boolean' },
      peers: { type: 'boolean' },
      help: { type: 'boolean' },
      beside: { type: 'string' },
      'beside-set': { type: 'string', multiple: true },
    },
  });
  if (values.help) return 'help';
  const only =
    values.only === undefined
      ? PARTS
      : values.only.split(',').map((name) => {
          const part = NUMBERED[name.trim()] ?? PARTS.find((known) => known === name.trim());
          if (!part) throw new Error(`--only: there is no part ${name}; there are ${PARTS.join(', ')}`);
          return part;
        });
  const beRaced = values.peers ? only.filter((part) => RACED.includes(part) || BESIDE_RACE.includes(part)) : only;
  const beside = besideOf(values.beside, values['beside-set']);
  const roundsAlone = values.peers ? 5 : 3;
  return {
    only: beRaced,
    beside,
    json: values.json ?? false,
    floods: values.floods ?? '',
    profile: values.profile,
    report: values.report,
    peers: values.peers ?? false,
    seconds: count('--seconds', values.seconds, 4, values.peers ? RACE_SECONDS_MAX : 60),
    rounds: count('--rounds', values.rounds, beside ? 8 : roundsAlone, 100),
    drainJobs: Math.max(1_000, count('--drain-jobs', values['drain-jobs'], values.peers ? 100_000 : 20_000, 2_000_000)),
    queuedJobs: Math.max(1_000, count('--queued-jobs', values['queued-jobs'], 200_000, 2_000_000)),
    openSeconds: values['open-seconds'] === '0' ? 0 : count('--open-seconds', values['open-seconds'], 0, 3_600),
    endpoints: Math.max(10, count('--endpoints', values.endpoints, 10_000, 20_000)),
    readers: Math.max(10, count('--readers', values.readers, 1_000, 2_000)),
    minutes: count('--minutes', values.minutes, 4, 60),
    tableJobs: Math.max(10_000, count('--table-jobs', values['table-jobs'], 200_000, 20_000_000)),
  };
}

function besideOf(folder: string | undefined, variables: readonly string[] | undefined): Options['beside'] {
  if (folder === undefined && variables === undefined) return undefined;
  const env = Object.fromEntries(
    (variables ?? []).map((text) => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined) throw new Error(`--beside-set: ${text} is not NAME=VALUE`);
      return [name, value!];
    }),
  );
  return { root: folder === undefined ? ROOT : resolve(process.env.INIT_CWD ?? process.cwd(), folder), env };
}

function count(name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`${name} must be a whole number from 1 to ${max}`);
  return value;
}
