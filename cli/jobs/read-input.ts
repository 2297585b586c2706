/** Reads the input of a job: from the command line, a file or stdin. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { readStdin } from '../read-stdin.ts';

/**
 * Reads `JSON`, `@file` or `-`. If absent: the example of `npm start`. Returns the bytes of one JSON object unchanged.
 * Throws UsageError.
 */
export async function readInput(cli: Cli, given: string | undefined): Promise<Buffer> {
  if (given === undefined) return exampleInput(cli);
  if (given === '-') return checkInput(await readStdin(cli), 'The input from stdin');
  if (!given.startsWith('@')) return checkInput(Buffer.from(given), 'The input');
  const file = resolve(cli.config.workingDir, given.slice(1));
  const text = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The input file ${file} cannot be read (${error.code ?? error.message}).`);
  });
  return checkInput(text, `The input in ${file}`);
}

function exampleInput({ target, output }: Cli): Buffer {
  if (target.exampleBody === undefined) {
    throw new UsageError(
      'What is the input of the job? Give --input with a JSON object, with @FILE, or with - for stdin.',
    );
  }
  const { input } = JSON.parse(target.exampleBody) as { input: unknown };
  const text = JSON.stringify(input);
  output.note(`No --input: taking the example, ${text}`);
  return Buffer.from(text);
}

function checkInput(bytes: Buffer, name: string): Buffer {
  if (!isUtf8(bytes)) throw new UsageError(`${name} is not UTF-8 text.`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    const hint = 'A shell keeps quotes inside single quotes: --input \'{"text":"hello"}\'';
    throw new UsageError(`${name} is not JSON: ${(error as Error).message}. ${hint}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return bytes;
  throw new UsageError(`${name} must be a JSON object, for instance {"text":"hello"}.`);
}
