/** Reads the input of a job: from the command line, a file or stdin. */

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { printable } from '@slipway/kit/log/printable';
import { ExampleInputOrigin } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { readStdin } from '../read-stdin.ts';

/** Reads the input of a job; if none is given, the example of the endpoint. Throws UsageError. */
export async function inputOrExample(cli: Cli, endpointId: string, given: string | undefined): Promise<Buffer> {
  return given === undefined ? exampleInput(cli, endpointId) : readInput(cli, given);
}

/** Reads `JSON`, `@file` or `-`. Returns the bytes of one JSON object unchanged. Throws UsageError. */
export async function readInput(cli: Cli, given: string): Promise<Buffer> {
  if (given === '-') return checkInput(await readStdin(cli), 'The input from stdin');
  if (!given.startsWith('@')) return checkInput(Buffer.from(given), 'The input');
  const file = resolve(cli.config.workingDir, given.slice(1));
  const text = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The input file ${file} cannot be read (${error.code ?? error.message}).`);
  });
  return checkInput(text, `The input in ${file}`);
}

/** Returns the example that core chooses, unless it only shows the form of an input or was shortened. */
async function exampleInput(cli: Cli, endpointId: string): Promise<Buffer> {
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
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return bytes;
  throw new UsageError(`${name} must be a JSON object, for instance {"text":"hello"}.`);
}
