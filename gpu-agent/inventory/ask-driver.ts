/** Runs nvidia-smi. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Longest wait for an answer of the driver, in milliseconds. After it the driver counts as silent. */
const TIMEOUT_MS = 20_000;
/** Largest answer in bytes. The full report has 120 kB for each card. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Runs nvidia-smi with these arguments. Returns its output. Rejects as execFile does. */
export type DriverQuery = (...args: string[]) => Promise<string>;

/** Runs nvidia-smi as a child of this process. Rejects with ENOENT if there is no nvidia-smi. */
export function askDriver(...args: string[]): Promise<string> {
  return runDriverQuery(args, TIMEOUT_MS);
}

/** Does the same. It is asked to end after `limitMs` milliseconds, which it may not do while the driver hangs. */
export async function runDriverQuery(args: readonly string[], limitMs: number): Promise<string> {
  return (await run('nvidia-smi', args, { timeout: limitMs, maxBuffer: ANSWER_BYTES_MAX })).stdout;
}

/** Returns these columns of all cards, as CSV. `ask`: runs nvidia-smi. */
export function askColumns(fields: readonly string[], ask: DriverQuery = askDriver): Promise<string> {
  return ask(`--query-gpu=${fields.join(',')}`, '--format=csv');
}

/**
 * Returns these columns of the cards that answer, as CSV; `undefined` if there is no answer. The first field must be
 * `uuid`.
 */
export function askColumnsOfAny(fields: readonly string[], ask?: DriverQuery): Promise<string | undefined> {
  return answered(askColumns(fields, ask), /^uuid,.*\n\S/);
}

/** Lists the cards that answer, with their slices; `undefined` if there is no answer. */
export function listAny(ask: DriverQuery = askDriver): Promise<string | undefined> {
  return answered(ask('-L'), /^GPU \d+: /m);
}

/** Returns the full report of the cards that answer, as XML; `undefined` if there is no answer. */
export function reportOfAny(ask: DriverQuery = askDriver): Promise<string | undefined> {
  return answered(ask('-q', '-x'), /<gpu id=/);
}

/** Returns the errors of the cards' NVLinks; `undefined` if there is no answer. */
export function linkErrorsOfAny(ask: DriverQuery = askDriver): Promise<string | undefined> {
  return answered(ask('nvlink', '-e'), /^\s*Link \d+: /m);
}

/** Returns the table that nvidia-smi prints without options; `undefined` if there is no answer. */
export function summaryOfAny(ask: DriverQuery = askDriver): Promise<string | undefined> {
  return answered(ask(), /^\|\s+GPU\s/m);
}

/**
 * Returns the output of a failed call if it has the expected form: when a card is lost, nvidia-smi reports the others
 * and then fails.
 */
async function answered(asked: Promise<string>, form: RegExp): Promise<string | undefined> {
  try {
    return await asked;
  } catch (error) {
    const { stdout = '', killed } = error as { stdout?: string; killed?: boolean };
    return !killed && form.test(stdout) ? stdout : undefined;
  }
}
