/** Uploads a file of requests, piece by piece. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { retryWhileAway } from '../retry-while-away.ts';

/** Size of a piece in bytes. */
const PIECE_BYTES = 1024 * 1024;
/** Longest line of a file in bytes. */
const LINE_BYTES_MAX = 10 * 1024 * 1024;
/** Longest name of a file. */
const NAME_LENGTH_MAX = 255;

/** Returns the `url` of the first line. Throws UsageError. */
export async function readRoute(path: string): Promise<string> {
  let text = '';
  for await (const piece of piecesOf(path)) {
    text += piece.toString('latin1');
    if (text.trimStart().includes('\n') || text.length > LINE_BYTES_MAX) break;
  }
  try {
    const { url } = JSON.parse(text.trimStart().split('\n', 1)[0]!) as { url?: unknown };
    if (typeof url === 'string') return url;
  } catch {
    // The same answer as for a line without a path.
  }
  throw new UsageError(
    `The first line of ${path} is no request: a JSON object with custom_id, method, url and body. Its url is the ` +
      'path of all requests; --route names it as well.',
  );
}

/** Uploads the file and returns its id. Throws UsageError, CoreError, UnreachableError or InterruptedError. */
export async function uploadRequests(cli: Cli, path: string): Promise<string> {
  const { core, output } = cli;
  const name = basename(path);
  const { size } = await stat(path).catch(unreadable(path));
  let id = '';
  let start = 0;
  for await (const content of piecesOf(path)) {
    // Only now, so that a file that cannot be read makes none.
    id ||= await beginUpload(cli, name);
    output.progress(`Uploading ${name}.`, `${Math.floor((start / Math.max(size, 1)) * 100)} %`);
    const piece = { id, start, content };
    // Safe to repeat: core recognises a piece that it has.
    await retryWhileAway(cli, () => core.files.call((client) => client.appendFile, piece));
    start += content.length;
  }
  id ||= await beginUpload(cli, name);
  await retryWhileAway(cli, () => core.files.call((client) => client.finishFile, { id, expireSeconds: 0 }));
  output.clearProgress();
  return id;
}

async function beginUpload({ core }: Cli, name: string): Promise<string> {
  const filename = [...name].slice(0, NAME_LENGTH_MAX).join('');
  const request = { purpose: 'batch', filename, expireSeconds: 0 };
  return (await core.files.call((client) => client.createFile, request)).file!.id;
}

/** Deletes a file whose batch was not made: an account may have only so many. Its own failure is not reported. */
export async function dropUpload({ core }: Cli, id: string): Promise<void> {
  await core.files.call((client) => client.deleteFile, { id }).catch(() => undefined);
}

async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>;
  } catch (error) {
    unreadable(path)(error as NodeJS.ErrnoException);
  }
}

function unreadable(path: string): (error: NodeJS.ErrnoException) => never {
  return ({ code, message }) => {
    throw new UsageError(`The file ${path} cannot be read (${code ?? message}).`);
  };
}
