/** Problems of the database as text, for the operator. Pure. */
import type { Problem, ProblemKind } from './problem.ts';

/** State of the database, as far as it is known. */
export interface DatabaseState {
  /** It accepts no writes. */
  readOnly: boolean;
  /** Bytes of its disk. `undefined`: the disk is not on core's machine, or its folder was not named. */
  disk: { free: number; total: number } | undefined;
}

/** Free part of a disk below which it is a problem, and free bytes above which it is none. */
const FREE_PART_MIN = 0.1;
const FREE_BYTES_ENOUGH = 100 * 2 ** 30;
/** Free part below which writes may fail at any moment: PostgreSQL makes log files of 16 MB at a time. */
const FREE_PART_URGENT = 0.03;
const BYTES_PER_MB = 1_000_000;

/** Returns the problems of the database. */
export function databaseProblems({ readOnly, disk }: DatabaseState): Problem[] {
  const isLow = disk !== undefined && disk.free < disk.total * FREE_PART_MIN && disk.free < FREE_BYTES_ENOUGH;
  return [
    ...(readOnly ? [ofDatabase('DATABASE_READ_ONLY', true, READ_ONLY_TEXT)] : []),
    ...(isLow ? [ofDatabase('DATABASE_DISK', disk.free < disk.total * FREE_PART_URGENT, diskText(disk))] : []),
  ];
}

function ofDatabase(kind: ProblemKind, broken: boolean, text: string): Problem {
  return { kind, broken, about: 'DATABASE', id: 'database', name: 'PostgreSQL', accountId: '', jobId: '', text };
}

const READ_ONLY_TEXT =
  'The database accepts no writes: nothing is accepted, and no job starts or ends. Promote it if it is a standby; ' +
  'else switch default_transaction_read_only off.';

function diskText({ free, total }: { free: number; total: number }): string {
  const [left, all] = [free, total].map((bytes) => Math.floor(bytes / BYTES_PER_MB));
  return (
    `The database's disk is nearly full: ${left} MB of ${all} MB are free. Without space PostgreSQL rejects ` +
    'jobs, and it stops when its log finds none. Make space, or enlarge the disk.'
  );
}
