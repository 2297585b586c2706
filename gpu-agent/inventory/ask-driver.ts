/** Asks nvidia-smi. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A driver that does not answer within this time is taken as silent, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** What it prints. Rejects as execFile does; without nvidia-smi with ENOENT. */
export async function askDriver(...args: string[]): Promise<string> {
  return (await run('nvidia-smi', args, { timeout: TIMEOUT_MS })).stdout;
}

/** Columns of all cards, as CSV. */
export function askColumns(fields: readonly string[]): Promise<string> {
  return askDriver(`--query-gpu=${fields.join(',')}`, '--format=csv');
}

/** Columns of the cards that can be asked; undefined: there is no answer. The first field is `uuid`. */
export function askColumnsOfAny(fields: readonly string[]): Promise<string | undefined> {
  return answered(askColumns(fields), /^uuid,.*\n\S/);
}

/** The cards that can be asked, with their slices; undefined: there is no answer. */
export function listAny(): Promise<string | undefined> {
  return answered(askDriver('-L'), /^GPU \d+: /m);
}

/** The table that it prints without options; undefined: there is no answer. */
export function summaryOfAny(): Promise<string | undefined> {
  return answered(askDriver(), /^\|\s+GPU\s/m);
}

/** With a card that is lost the driver's tool tells of the others, and fails. */
async function answered(asked: Promise<string>, form: RegExp): Promise<string | undefined> {
  try {
    return await asked;
  } catch (error) {
    const { stdout = '', killed } = error as { stdout?: string; killed?: boolean };
    return !killed && form.test(stdout) ? stdout : undefined;
  }
}
