/** Writes results of a batch to stdout or to a file. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Batch } from '@slipway/proto/gen/slipway/v1/batch_service';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { hasEnded, stateText } from './present-batch.ts';

/** Options of `batches output`. */
export interface OutputOptions {
  errors?: boolean;
  output?: string;
}

/** Runs `slipway batches output`. */
export async function writeOutput(cli: Cli, id: string, { errors = false, output }: OutputOptions): Promise<void> {
  if (cli.output.json) throw new UsageError('The results are JSON lines as they stand: leave --json out.');
  const { batch } = await cli.core.batches.call((client) => client.getBatch, { id, endpointId: '' });
  if (!hasEnded(batch!))
    throw new RejectedError(`The batch is ${stateText(batch!)}, and has results when it has ended.`);
  const file = output === undefined ? undefined : await openResults(cli, output);
  try {
    await copyResults(cli, batch!, errors ? 'errors' : 'output', file);
  } finally {
    await file?.close();
  }
}

/** A file for results. */
export interface ResultFile {
  /** Removes what it had before. */
  empty(): Promise<void>;
  write(content: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for results and leaves what is in it. Throws UsageError. */
export async function openResults({ config }: Cli, given: string): Promise<ResultFile> {
  const path = resolve(config.workingDir, given);
  const failed = ({ code, message }: NodeJS.ErrnoException): never => {
    throw new UsageError(`The file ${path} cannot be written (${code ?? message}).`);
  };
  const handle = await open(path, 'a').catch(failed);
  return {
    empty: async () => {
      // A pipe or a terminal has nothing to remove.
      if ((await handle.stat()).isFile()) await handle.truncate(0).catch(failed);
    },
    write: (content) => handle.appendFile(content).catch(failed),
    close: () => handle.close(),
  };
}

/** Copies the results of a batch that has ended. `file`: `undefined` writes them to stdout. */
export async function copyResults(
  cli: Cli,
  { outputFileId, errorFileId }: Batch,
  which: 'output' | 'errors',
  file: ResultFile | undefined,
): Promise<void> {
  const { output } = cli;
  await file?.empty();
  const id = which === 'output' ? outputFileId : errorFileId;
  if (id === '') return output.note(which === 'output' ? 'No request succeeded.' : 'There are no errors of requests.');
  // A part may end within a character.
  const decoder = new StringDecoder('utf8');
  for await (const content of contentOf(cli, id)) {
    if (file) await file.write(content);
    else output.text(decoder.write(content));
  }
}

async function* contentOf(cli: Cli, id: string): AsyncGenerator<Buffer> {
  let cursor = '';
  do {
    const request = { id, cursor };
    const part = await retryWhileAway(cli, () => cli.core.files.call((client) => client.readFile, request));
    yield part.content;
    cursor = part.nextCursor;
  } while (cursor !== '');
}
