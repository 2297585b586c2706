/** An object of S3, or of a store with the same API, that a backup is written to or read from. */
import type { Writable } from 'node:stream';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { FileExistsError } from './back-up.ts';
import type { S3Config } from './s3-config.ts';
import { signedHeaders } from './s3-signature.ts';
import type { S3Answer, S3Call } from './s3-sink.ts';
import { MADE_BY, S3Error, S3Sink } from './s3-sink.ts';

/** Tries of a request that is not answered, or with 429 or 5xx: over about half a minute. */
const TRIES = 7;
const PAUSE = { firstMs: 500, maxMs: 15_000 };
const NO_BODY = new Uint8Array();

export class S3Object {
  /** `s3://BUCKET/NAME`. */
  readonly address: string;
  readonly #config: S3Config;
  readonly #parts: { clock: Clock; random: Random };

  constructor(config: S3Config, parts: { clock: Clock; random: Random }) {
    this.address = `s3://${config.bucket}/${config.key}`;
    this.#config = config;
    this.#parts = parts;
  }

  /** Returns whether the object is there. Throws S3Error. */
  async exists(): Promise<boolean> {
    const { status } = await this.send({ method: 'HEAD' }, [404]);
    return status !== 404;
  }

  /** Returns the object's content. Throws S3Error, also if there is no such object. */
  async read(): Promise<Readable> {
    const response = await this.#persist({ method: 'GET' });
    if (!response.ok) throw this.faultOf(response.status, await response.text());
    return Readable.fromWeb(response.body as ReadableStream);
  }

  /**
   * Returns a stream whose content becomes the object. The object appears when the stream has ended and all of it is
   * there. The stream fails with FileExistsError if an object of this name was created meanwhile, else with S3Error.
   */
  sink(): Writable {
    return new S3Sink(this, this.#parts.random.uuid());
  }

  /**
   * Sends a request. Throws FileExistsError if the object must not exist and does, and S3Error unless the answer is 2xx
   * or one of the `other` statuses.
   */
  async send(call: S3Call, other: readonly number[] = []): Promise<S3Answer> {
    const response = await this.#persist(call);
    const { status, headers } = response;
    const text = await response.text();
    if (status === 412) throw new FileExistsError(this.address);
    if (!response.ok && !other.includes(status)) throw this.faultOf(status, text);
    return { status, tag: headers.get('etag') ?? '', madeBy: headers.get(MADE_BY) ?? '', text };
  }

  /** Returns the error of an answer. */
  faultOf(status: number, text: string): S3Error {
    const member = (name: string): string => new RegExp(`<${name}>([^<]*)`).exec(text)?.[1] ?? '';
    const reason = [member('Code'), member('Message')].filter((part) => part !== '').join(': ');
    return new S3Error(`${this.#config.endpoint} answered ${status} for ${this.address}. ${reason}`.trim());
  }

  async #persist(call: Omit<S3Call, 'method'> & { method: string }): Promise<Response> {
    const { clock, random } = this.#parts;
    for (let failures = 1; ; failures += 1) {
      const isLast = failures === TRIES;
      try {
        const response = await this.#fetch(call);
        if (isLast || (response.status < 500 && response.status !== 429)) return response;
        await response.text();
      } catch (error) {
        const { cause, message } = error as Error & { cause?: Error };
        if (isLast) throw new S3Error(`${this.#config.endpoint} cannot be reached: ${cause?.message || message}`);
      }
      await delay(clock, backoffMs(failures, PAUSE, random));
    }
  }

  async #fetch({ method, query = {}, headers = {}, body }: Omit<S3Call, 'method'> & { method: string }) {
    const { endpoint, bucket, key } = this.#config;
    // The bucket in the path, not in the host's name: every store knows this form.
    const path = [endpoint, bucket, ...key.split('/').map(encodePart)].join('/');
    const url = new URL(`${path}?${new URLSearchParams(query)}`);
    const request = { method, url, headers, body: body ?? NO_BODY };
    return await fetch(url, {
      method,
      headers: await signedHeaders(request, this.#config, this.#parts.clock.nowMs()),
      // Another region's store would reject this signature.
      redirect: 'manual',
      ...(body && { body }),
    });
  }
}

/** Returns a part of a path in the encoding of signatures. Some stores sign the path as it was sent. */
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}
