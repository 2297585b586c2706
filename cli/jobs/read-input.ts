/** Reads the input of a job: from the command line, a file or stdin. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { isJsonObject, parseExact } from '@slipway/kit/bytes/exact-json';
import { printable } from '@slipway/kit/log/printable';
import { ExampleInputOrigin } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { inputOf, JOB_FILE } from '../build/folder-example.ts';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { readStdin } from '../read-stdin.ts';

/**
 * Reads `JSON`, `@file` or `-`. Returns the bytes of one JSON object unchanged; of a file test_input.json, which holds
 * a whole job, its input. Throws UsageError.
 */
export async function readInput(cli: Cli, given: string): Promise<Buffer> {
  if (given === '-') return checkInput(await readStdin(cli), 'The input from stdin');
  if (!given.startsWith('@')) return checkInput(Buffer.from(given), 'The input');
  const file = resolve(cli.config.workingDir, given.slice(1));
  const text = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The input file ${file} cannot be read (${error.code ?? error.message}).`);
  });
  const input = checkInput(text, `The input in ${file}`);
  return basename(file) === JOB_FILE ? inputOfJob(input, file) : input;
}

/** Returns the input of a job file. A file that has no member `input` is the input. Throws UsageError. */
function inputOfJob(bytes: Buffer, file: string): Buffer {
  try {
    const input = inputOf(parseExact(bytes.toString('utf8')));
    return isJsonObject(input) ? Buffer.from(JSON.stringify(input)) : bytes;
  } catch (error) {
    throw new UsageError(`The input in ${file} cannot be read: ${(error as Error).message}.`);
  }
}

/** Returns the example that core chooses. Throws UsageError if it only shows the form of an input, or was shortened. */
export async function exampleInput(cli: Cli, endpointId: string): Promise<Buffer> {
  const { input, origin, jobId, isCut } = await cli.core.endpoints.call((client) => client.getExampleInput, {
    endpointId,
  });
  const give = 'Give --input with a JSON object, with @FILE, or with - for stdin.';
  if (origin === ExampleInputOrigin.GENERAL)
    throw new UsageError(`What is the input of the job? The endpoint has no example and no completed job. ${give}`);
  if (isCut)
    throw new UsageError(`The input of the last job, ${jobId}, is too long to be sent again from here. ${give}`);
  const ofJob = jobId === '' ? 'the example' : `the input of the last completed job (${jobId})`;
  cli.output.note(`No --input: taking ${ofJob}, ${printable(input)}`);
  return Buffer.from(input);
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
  if (isJsonObject(value)) return bytes;
  throw new UsageError(`${name} must be a JSON object, for instance {"text":"hello"}.`);
}
