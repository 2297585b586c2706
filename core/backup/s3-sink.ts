/** Makes an object of S3 of what is written, in parts, so that the size needs not be known. */
import { Writable } from 'node:stream';

/** Size of a part. S3 takes 10,000 of them: backups of up to 312 GiB. One is in memory at a time. */
const PART_BYTES = 32 * 2 ** 20;
/** The object must not exist yet. */
const NEW = { 'If-None-Match': '*' };
/** Metadata of the object: the id of the stream that made it. */
export const MADE_BY = 'x-amz-meta-made-by';

/** The store did not do what was asked. The message has its reason. */
export class S3Error extends Error {}

/** A request for the object, or for an upload of it by its query. */
export interface S3Call {
  method: 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array<ArrayBuffer>;
}

/** An answer of the store. */
export interface S3Answer {
  status: number;
  /** Tag of the content. Empty: there is none. */
  tag: string;
  /** The object's `MADE_BY`. Empty: there is none. */
  madeBy: string;
  text: string;
}

/** The object, as far as its sink needs it. */
interface S3Target {
  send(call: S3Call, other?: readonly number[]): Promise<S3Answer>;
  faultOf(status: number, text: string): S3Error;
}

/** If it fails or is destroyed, the store forgets the parts. */
export class S3Sink extends Writable {
  readonly #object: S3Target;
  readonly #id: string;
  readonly #part = Buffer.allocUnsafe(PART_BYTES);
  #size = 0;
  #uploadId = '';
  /** Tags of the parts that were sent. */
  readonly #tags: string[] = [];
  /** The write that is under way. */
  #work: Promise<void> = Promise.resolve();

  /** `id`: another one for each stream. */
  constructor(object: S3Target, id: string) {
    super();
    this.#object = object;
    this.#id = id;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#work = this.#add(chunk);
    this.#work.then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#work = this.#end();
    this.#work.then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    void this.#forget().then(() => done(error));
  }

  /** Lets the store forget the parts of an upload that was not completed. */
  async #forget(): Promise<void> {
    // A part that is under way could outlive the end of its upload.
    await this.#work.catch(() => undefined);
    if (this.#uploadId === '') return;
    const query = { uploadId: this.#uploadId };
    await this.#object.send({ method: 'DELETE', query }, [404]).catch(() => undefined);
  }

  async #add(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const size = chunk.copy(this.#part, this.#size, at);
      at += size;
      this.#size += size;
      if (this.#size === PART_BYTES) await this.#sendPart();
    }
  }

  async #sendPart(): Promise<void> {
    if (this.#uploadId === '') this.#uploadId = await this.#begin();
    const query = { partNumber: String(this.#tags.length + 1), uploadId: this.#uploadId };
    const { tag } = await this.#object.send({ method: 'PUT', query, body: this.#part.subarray(0, this.#size) });
    this.#tags.push(tag);
    this.#size = 0;
  }

  async #begin(): Promise<string> {
    const headers = { [MADE_BY]: this.#id };
    const { status, text } = await this.#object.send({ method: 'POST', query: { uploads: '' }, headers });
    const id = /<UploadId>([^<]+)/.exec(text)?.[1];
    if (id === undefined) throw this.#object.faultOf(status, text);
    return id;
  }

  async #end(): Promise<void> {
    if (this.#tags.length > 0 && this.#size > 0) await this.#sendPart();
    await this.#complete().catch(async (error: unknown) => {
      // The answer to an earlier try may have been lost: the next one finds an object, or no upload any more.
      if (!(await this.#isDone())) throw error;
    });
    this.#uploadId = '';
  }

  /** Returns whether the object is there and of this stream. */
  async #isDone(): Promise<boolean> {
    const answer = await this.#object.send({ method: 'HEAD' }, [404]).catch(() => undefined);
    return answer?.madeBy === this.#id;
  }

  async #complete(): Promise<void> {
    if (this.#tags.length === 0) {
      const headers = { ...NEW, [MADE_BY]: this.#id };
      await this.#object.send({ method: 'PUT', headers, body: this.#part.subarray(0, this.#size) });
      return;
    }
    const parts = this.#tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const query = { uploadId: this.#uploadId };
    const { status, text } = await this.#object.send({ method: 'POST', query, headers: NEW, body });
    // A failure after the first byte of the answer has the status 200 too.
    if (!text.includes('CompleteMultipartUploadResult')) throw this.#object.faultOf(status, text);
  }
}
