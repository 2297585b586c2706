/** Where the content of a model's files comes from: a hub, or another machine. */
import type { Readable } from 'node:stream';
import type { HttpReply } from './http-get.ts';
import { leave } from './http-get.ts';
import { HubError } from './hub-error.ts';
import type { ModelFile } from './model-record.ts';

/** A file that is being read. */
export interface OpenFile {
  /** Its content from `offset` on. */
  body: Readable;
  /** Position of the first byte: as asked for, or 0 if the source cannot begin later. */
  offset: number;
}

/** Gives the content of files. */
export interface FileSource {
  /** Name for people. */
  readonly name: string;
  /** Opens a file of a commit at a position. Rejects with HubError or the connection's error. */
  open(repository: string, commit: string, file: ModelFile, offset: number, signal: AbortSignal): Promise<OpenFile>;
}

const [OK, PARTIAL] = [200, 206];

/** Returns the body of a response to a request for a file from `offset` on. Throws HubError for a rejection. */
export function openBody({ status, headers, body }: HttpReply, host: string, offset: number): OpenFile {
  if (status === OK) return { body, offset: 0 };
  const [, first] = /^bytes (\d+)-/.exec(headers['content-range'] ?? '') ?? [];
  if (status === PARTIAL && Number(first) === offset) return { body, offset };
  leave(body);
  throw new HubError(host, status, headers);
}
