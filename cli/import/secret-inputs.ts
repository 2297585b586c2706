/** Values of secrets, which the source does not show: a file that the user writes (`--secrets FILE`). */

import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { UsageError } from '../failures.ts';
import type { Output } from '../output/output.ts';

/** Largest file, in bytes. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
/** Permissions of others than the owner. */
const OTHERS = 0o077;

/**
 * Reads names and values: lines `NAME=value`, where empty lines and lines with `#` are skipped, or one JSON object of
 * texts, for values of several lines. Throws UsageError, whose text contains no value.
 */
export async function readSecretValues(file: string | undefined, output: Output): Promise<Map<string, string>> {
  if (file === undefined) return new Map();
  const text = await readText(file, output);
  return /^\s*\{/.test(text) ? fromJson(file, text) : fromLines(file, text);
}

async function readText(file: string, output: Output): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { mode, size } = await handle.stat();
    if (size > FILE_BYTES_MAX) throw new UsageError(`${file} has more than ${FILE_BYTES_MAX / 1024 ** 2} MiB.`);
    if ((mode & OTHERS) !== 0) output.note(`Other users may read the secrets in ${file}: chmod 600 ${file}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof TypeError) throw new UsageError(`${file} is not UTF-8 text.`);
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  } finally {
    await handle?.close();
  }
}

function fromLines(file: string, text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const at = line.indexOf('=');
    const name = line.slice(0, at).trim();
    if (at < 0 || name === '') throw new UsageError(`${file}, line ${index + 1}: must be NAME=value.`);
    if (values.has(name)) throw new UsageError(`${file}, line ${index + 1}: ${name} has a value already.`);
    values.set(name, line.slice(at + 1));
  }
  return values;
}

function fromJson(file: string, text: string): Map<string, string> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new UsageError(`${file} begins as JSON and is none.`);
  }
  const entries = Object.entries(document as Record<string, unknown>);
  const wrong = entries.find(([, value]) => typeof value !== 'string');
  if (wrong) throw new UsageError(`${file}: the value of ${JSON.stringify(wrong[0])} must be a text.`);
  return new Map(entries as [string, string][]);
}
