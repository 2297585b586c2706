/** POST /openai/v1/files: hands a file on to core piece by piece, while it arrives. */
import type { File, FileServiceClient } from '@slipway/proto/gen/slipway/v1/file_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import type { ServiceCalls } from '../core-client/service-calls.ts';
import { readFormStream } from './form-stream.ts';
import { isForm } from './openai-request.ts';
import type { UploadParts } from './upload-body.ts';
import { readUpload } from './upload-body.ts';

/** Size of a piece in bytes, and the longest value of a text field. */
const PIECE_BYTES = 1024 * 1024;
const FIELD_BYTES_MAX = 1_024;
/** Time for one piece, in milliseconds. */
const PIECE_MS = 30_000;

/** The text fields of the form. */
interface FileFields {
  purpose: string | undefined;
  expireSeconds: number;
}

/**
 * Stores the file of a request. Throws CoreError; then the rest of the body is discarded, so that the client can read
 * the response.
 */
export async function uploadFile(
  files: ServiceCalls<FileServiceClient>,
  request: FastifyRequest,
  parts: UploadParts,
): Promise<File> {
  if (!isForm(request.sentContentType))
    throw new CoreError('INVALID_REQUEST', 'Send the file as a form (multipart/form-data) with file and purpose.');
  return readUpload(parts, request, PIECE_BYTES, (chunks) => storeFile(files, request, chunks));
}

async function storeFile(
  files: ServiceCalls<FileServiceClient>,
  request: FastifyRequest,
  chunks: AsyncIterable<Buffer>,
): Promise<File> {
  const { apiKey } = request.caller;
  const texts = new Map<string, string>();
  let upload: Upload | undefined;
  let field = '';
  try {
    for await (const event of readFormStream(request.sentContentType, chunks)) {
      if (event.kind === 'part') {
        field = event.name;
        if (field === 'file' && upload) throw new CoreError('INVALID_REQUEST', 'The form has two files.');
        // Its purpose may come after it.
        if (field === 'file') upload = await Upload.begin(files, apiKey, texts.get('purpose'), event.filename);
      } else if (field === 'file') await upload!.add(event.bytes);
      else addText(texts, field, event.bytes);
    }
    if (!upload) throw new CoreError('INVALID_REQUEST', 'The form has no field file.');
    const { purpose = '', expireSeconds } = fieldsOf(texts);
    // Core says why no other purpose is possible.
    if (purpose !== 'batch') await Upload.begin(files, apiKey, purpose, '');
    return await upload.finish(expireSeconds);
  } catch (error) {
    upload?.giveUp();
    throw error;
  }
}

class Upload {
  readonly #files: ServiceCalls<FileServiceClient>;
  readonly #apiKey: string;
  readonly #id: string;
  /** The piece that is being filled. Its memory is the upload's, however small the parts are that a client sends. */
  readonly #piece = Buffer.allocUnsafe(PIECE_BYTES);
  #bytes = 0;
  #start = 0;

  private constructor(files: ServiceCalls<FileServiceClient>, apiKey: string, id: string) {
    this.#files = files;
    this.#apiKey = apiKey;
    this.#id = id;
  }

  static async begin(
    files: ServiceCalls<FileServiceClient>,
    apiKey: string,
    purpose = 'batch',
    filename = '',
  ): Promise<Upload> {
    const request = { purpose, filename: filename || 'requests.jsonl', expireSeconds: 0 };
    const { file } = await files.call((client) => client.createFile, request, { apiKey, repeatable: false });
    return new Upload(files, apiKey, file!.id);
  }

  async add(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(this.#piece, this.#bytes, at);
      at += copied;
      this.#bytes += copied;
      if (this.#bytes === PIECE_BYTES) await this.#send();
    }
  }

  async finish(expireSeconds: number): Promise<File> {
    if (this.#bytes > 0) await this.#send();
    const request = { id: this.#id, expireSeconds };
    const { file } = await this.#files.call((client) => client.finishFile, request, this.#options());
    return file!;
  }

  /** Gives the upload up: it counts no more. If core cannot be reached, it counts until its time ends. */
  giveUp(): void {
    const request = { id: this.#id };
    this.#files
      .call((client) => client.deleteFile, request, { apiKey: this.#apiKey, repeatable: true })
      .catch(() => undefined);
  }

  async #send(): Promise<void> {
    const request = { id: this.#id, start: this.#start, content: this.#piece.subarray(0, this.#bytes) };
    await this.#files.call((client) => client.appendFile, request, this.#options());
    this.#start += this.#bytes;
    this.#bytes = 0;
  }

  /** Returns the options of a call with a piece: it may be repeated. */
  #options() {
    return { apiKey: this.#apiKey, repeatable: true, tryMs: PIECE_MS };
  }
}

function addText(texts: Map<string, string>, field: string, bytes: Buffer): void {
  const text = (texts.get(field) ?? '') + bytes.toString('utf8');
  if (text.length > FIELD_BYTES_MAX)
    throw new CoreError('INVALID_REQUEST', `The field ${field.slice(0, 64)} is too long.`);
  texts.set(field, text);
}

function fieldsOf(texts: ReadonlyMap<string, string>): FileFields {
  const seconds = texts.get('expires_after[seconds]');
  const anchor = texts.get('expires_after[anchor]') ?? 'created_at';
  if (anchor !== 'created_at') throw new CoreError('INVALID_REQUEST', 'expires_after.anchor must be "created_at".');
  if (seconds !== undefined && !/^\d{1,9}$/.test(seconds))
    throw new CoreError('INVALID_REQUEST', 'expires_after.seconds must be a whole number.');
  return { purpose: texts.get('purpose'), expireSeconds: seconds === undefined ? 0 : Number(seconds) };
}
