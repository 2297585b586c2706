/**
 * Payloads over 256 KiB, each on a separate stream beside the session: inputs on the way in, outcomes on the way out.
 */
import { status } from '@grpc/grpc-js';
import { retry, retryUntil } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type {
  AttemptOutcome,
  AttemptRef,
  FetchInputResponse,
  ReportOutcomeRequest,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { SIDE_STREAM_PIECE_BYTES } from '@slipway/proto/wire/limits';
import type { LargeOutcome, LargeToCore } from '../attempts/to-core.ts';
import type { CoreLink } from './core-link.ts';

/** Maximum concurrent uploads; each has its outcome in memory. */
const UPLOADS_MAX = 2;
/** Most tries to fetch an input before its attempt is returned. */
const FETCHES_MAX = 3;
const PAUSE = { firstMs: 100, maxMs: 1_000 };

export class LargePayloads implements LargeToCore {
  readonly #options: { clock: Clock; random: Random; logger: Logger };
  #link: CoreLink | undefined;
  /** Aborts when the session is over. */
  #ended = new AbortController();
  #queue: LargeOutcome[] = [];
  readonly #uploading = new Set<string>();

  constructor(options: { clock: Clock; random: Random; logger: Logger }) {
    this.#options = options;
  }

  /** Handles the start of a session. Owners add their outcomes again. */
  up(link: CoreLink): void {
    this.#ended.abort();
    this.#ended = new AbortController();
    this.#link = link;
    this.#queue = [];
  }

  /** Handles the end of the session. */
  down(): void {
    this.#ended.abort();
    this.#link = undefined;
    this.#queue = [];
  }

  /** Queues an outcome and sends it in its turn. */
  send(outcome: LargeOutcome): void {
    if (!this.#link || this.#queue.some(({ key }) => key === outcome.key)) return;
    this.#queue.push(outcome);
    this.pump();
  }

  /** Starts what can be started. Must be called when chunks were acknowledged. */
  pump(): void {
    while (this.#link && this.#uploading.size < UPLOADS_MAX) {
      const index = this.#queue.findIndex((outcome) => !this.#uploading.has(outcome.key) && outcome.isReady());
      if (index < 0) return;
      const [outcome] = this.#queue.splice(index, 1);
      this.#uploading.add(outcome!.key);
      void this.#upload(outcome!, this.#link);
    }
  }

  /** Returns the input of an attempt in pieces; `gone` if core says that the attempt is not current. */
  async fetchInput(ref: AttemptRef): Promise<readonly Uint8Array[] | 'gone'> {
    const isGone = (error: unknown): boolean => (error as { code?: number }).code === status.NOT_FOUND;
    const fetch = async (): Promise<readonly Uint8Array[]> => {
      if (!this.#link) throw new Error('there is no session');
      return fetchOnce(this.#link, ref);
    };
    try {
      const { clock, random } = this.#options;
      return await retry(fetch, {
        clock,
        random,
        pause: PAUSE,
        triesMax: FETCHES_MAX,
        mayHelp: (error) => !isGone(error),
      });
    } catch (error) {
      if (isGone(error)) return 'gone';
      throw error;
    }
  }

  async #upload(large: LargeOutcome, link: CoreLink): Promise<void> {
    const { clock, random, logger } = this.#options;
    const { key, ref } = large;
    const upload = async (): Promise<void> => {
      const outcome = await large.load();
      if (!outcome) return;
      await uploadOnce(link, outcome);
      large.acknowledge();
    };
    const onFailure = (error: unknown): void =>
      logger.warn({ err: error, ...ref }, 'a large outcome did not reach core, will try again');
    await retryUntil(this.#ended.signal, upload, { clock, random, pause: PAUSE, onFailure });
    this.#uploading.delete(key);
    // A newer session may have queued it again while this try ran.
    this.pump();
  }
}

function fetchOnce(link: CoreLink, ref: AttemptRef): Promise<readonly Uint8Array[]> {
  const { client, metadata } = link.side();
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const call = client.fetchInput({ ref }, metadata);
    call.on('data', (response: FetchInputResponse) => pieces.push(response.piece));
    call.on('error', reject);
    call.on('end', () => resolve(pieces));
  });
}

function uploadOnce(link: CoreLink, outcome: AttemptOutcome): Promise<void> {
  const { client, metadata } = link.side();
  return new Promise((resolve, reject) => {
    const call = client.reportOutcome(metadata, (error) => (error ? reject(error) : resolve()));
    const output = outcome.output ?? Buffer.alloc(0);
    call.on('error', reject);
    const messages = pieces(outcome, output);
    const next = (): void => {
      const { value, done } = messages.next();
      if (done) call.end();
      // Waiting for each piece keeps memory and the connection's window small.
      else
        call.write(value, (error?: Error | null) => {
          if (!error) next();
        });
    };
    next();
  });
}

function* pieces(outcome: AttemptOutcome, output: Buffer): Generator<ReportOutcomeRequest, undefined> {
  yield {
    outcome: { ...outcome, output: undefined },
    piece: output.subarray(0, SIDE_STREAM_PIECE_BYTES),
    size: output.length,
  };
  for (let at = SIDE_STREAM_PIECE_BYTES; at < output.length; at += SIDE_STREAM_PIECE_BYTES) {
    yield { outcome: undefined, piece: output.subarray(at, at + SIDE_STREAM_PIECE_BYTES) };
  }
  return undefined;
}
