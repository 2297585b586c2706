/** What the bench was asked to do. */
import { parseArgs } from 'node:util';

/** Parts of the bench, in the order in which they run. */
export const PARTS = ['ceilings', 'run', 'runsync', 'drain', 'memory', 'graphql', 'containers', 'lb', 'tables', 'python'] as const;
export type Part = (typeof PARTS)[number];

/** See HELP. */
export interface Options {
  only: readonly Part[];
  seconds: number;
  rounds: number;
  json: boolean;
  /** Race other job queues instead. */
  peers: boolean;
  /** Jobs of a drain in the race. */
  drainJobs: number;
  /** Finished jobs of the part `tables`; a tenth as many are queued. */
  tableJobs: number;
  /** Folder for CPU profiles of core, facade and agent. Undefined: none are taken. */
  profile: string | undefined;
}

export const HELP = `npm run bench -- [options]

Measures Slipway on this machine, with every part in a process of its own on loopback and PostgreSQL flushing every commit to disk.

  --only <parts>     comma-separated: ${PARTS.join(', ')} (default: all)
  --seconds <n>      length of one measured round, 1 to 60 (default 4); queue sizes do not depend on it
  --rounds <n>       measured rounds; figures are medians (default 3)
  --json             print one JSON object instead of tables
  --peers            race BullMQ, pg-boss and graphile-worker instead, in turn (rounds: 5); they are installed below .slipway-test
  --drain-jobs <n>   jobs of a drain in that race, 1,000 to 1,000,000 (default 100,000)
  --table-jobs <n>   finished jobs of the part tables, 10,000 to 20,000,000 (default 200,000); a tenth as many are queued
  --profile <folder> write V8 CPU profiles of core, facade and agent there (slows them down a little)
  --help             this text
`;

/** Reads the command line. Throws an Error whose text is for the user. */
export function readOptions(argv: string[]): Options | 'help' {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string' }, seconds: { type: 'string' }, rounds: { type: 'string' }, profile: { type: 'string' }, 'drain-jobs': { type: 'string' },
      'table-jobs': { type: 'string' },
      json: { type: 'boolean' }, peers: { type: 'boolean' }, help: { type: 'boolean' },
    },
  });
  if (values.help) return 'help';
  const only = values.only === undefined ? PARTS : values.only.split(',').map((name) => {
    const part = PARTS.find((known) => known === name.trim());
    if (!part) throw new Error(`--only: there is no part ${name}; there are ${PARTS.join(', ')}`);
    return part;
  });
  return {
    only, json: values.json ?? false, profile: values.profile, peers: values.peers ?? false,
    seconds: count('--seconds', values.seconds, 4, 60), rounds: count('--rounds', values.rounds, values.peers ? 5 : 3, 20),
    drainJobs: Math.max(1_000, count('--drain-jobs', values['drain-jobs'], 100_000, 1_000_000)),
    tableJobs: Math.max(10_000, count('--table-jobs', values['table-jobs'], 200_000, 20_000_000)),
  };
}

function count(name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) throw new Error(`${name} must be a whole number from 1 to ${max}`);
  return value;
}
