/**
 * Bounds the bytes of responses that clients have not read yet, in total and per account. A response over the budget
 * is dropped and read from core again when there is capacity. Clients that do not read are disconnected.
 */

import type { MemoryBudget, MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { TooManyRequests } from '../errors/public-error.ts';
import type { Caller } from '../request-state.ts';

/** Parts handed to the budget. */
interface AnswerBudgetOptions {
  budget: MemoryBudget;
  /** Longest time in which a client reads nothing of its response, in milliseconds. */
  idleMs: number;
  clock: Clock;
}

/** Reads a response from core. */
export interface Reading<Answer> {
  read(): Promise<Answer>;
  /** Reads the same again. Default: as at first. */
  reread?(): Promise<Answer>;
  /** Returns the bytes that the response takes. */
  bytesOf(answer: Answer): number;
}

/** A response that is counted in the budget. */
export interface HeldAnswer<Answer> {
  answer: Answer;
  /** Releases the budget before the response ends. Idempotent. */
  release(): void;
  /** Stops the idle timer while the next piece is read. */
  pause(): void;
  /** Restarts the idle timer for another piece of the same size. */
  prolong(): void;
}

/** Smaller responses are not counted: socket buffers hold them. */
const UNCOUNTED_BYTES_MAX = 16 * 1024;
/** Slowest read rate in bytes per millisecond (32 kB/s). Slower clients are disconnected. */
const READ_BYTES_PER_MS_MIN = 32;

const nothing = (): void => undefined;

export class AnswerBudget {
  readonly #options: AnswerBudgetOptions;

  constructor(options: AnswerBudgetOptions) {
    this.#options = options;
  }

  /**
   * Reads a response and counts it in the budget until it is sent. Waits for the budget as long as the client is
   * connected.
   */
  async hold<Answer>(
    request: FastifyRequest,
    reply: FastifyReply,
    reading: Reading<Answer>,
  ): Promise<HeldAnswer<Answer>> {
    const found = await this.#read(request, reply, reading);
    if ('answer' in found) return found;
    await found.granted;
    const answer = await (reading.reread ?? reading.read)();
    found.watch();
    return { answer, release: found.release, pause: found.pause, prolong: found.prolong };
  }

  /** Reads an answer and reserves its bytes. A separate function, so that nothing references a discarded answer. */
  async #read<Answer>(
    request: FastifyRequest,
    reply: FastifyReply,
    reading: Reading<Answer>,
  ): Promise<HeldAnswer<Answer> | Hold> {
    const answer = await reading.read();
    const bytes = reading.bytesOf(answer);
    if (bytes <= UNCOUNTED_BYTES_MAX) return { answer, release: nothing, pause: nothing, prolong: nothing };
    const hold = new Hold(this.#options, request.caller.accountId, reply, bytes);
    if (!hold.isGranted) return hold;
    hold.watch();
    return { answer, release: hold.release, pause: hold.pause, prolong: hold.prolong };
  }

  /**
   * Counts large responses to GET requests in the budget, or rejects them with RATE_LIMITED. For routes that do not
   * use `hold`.
   */
  rejectOverBudget(app: FastifyInstance): void {
    app.addHook('onSend', async (request, reply, payload) => {
      const caller = request.caller as Caller | undefined;
      if (!caller || request.method !== 'GET' || typeof payload !== 'string' || payload.length <= UNCOUNTED_BYTES_MAX)
        return;
      const hold = new Hold(this.#options, caller.accountId, reply, Buffer.byteLength(payload));
      if (hold.isGranted) return hold.watch();
      hold.release();
      throw new TooManyRequests('Too many large answers have not been read yet; read them, then try again.', 1);
    });
  }
}

/** Budget of one response, or the wait for it. */
class Hold {
  /** Rejects if the client disconnects first. */
  readonly granted: Promise<void>;
  readonly #options: AnswerBudgetOptions;
  readonly #reply: FastifyReply;
  readonly #bytes: number;
  readonly #permit: MemoryPermit;
  #slow: Timer | undefined;
  #isGranted = false;
  #grant = nothing;
  #give = (_error: Error): void => undefined;

  constructor(options: AnswerBudgetOptions, accountId: string, reply: FastifyReply, bytes: number) {
    this.#options = options;
    this.#reply = reply;
    this.#bytes = bytes;
    this.granted = new Promise((grant, give) => {
      this.#grant = grant;
      this.#give = give;
    });
    // It is not awaited if there was capacity at once.
    this.granted.catch(nothing);
    this.#permit = options.budget.acquire(accountId, Math.min(bytes, options.budget.ownerBytesMax), () => {
      this.#isGranted = true;
      this.#grant();
    });
    if (reply.raw.closed) this.release();
    else reply.raw.once('close', this.release);
  }

  get isGranted(): boolean {
    return this.#isGranted;
  }

  readonly release = (): void => {
    const { raw } = this.#reply;
    raw.off('close', this.release);
    raw.off('finish', this.#rest);
    this.#slow?.cancel();
    if (this.#slow && !raw.closed) this.#rest();
    this.#permit.release();
    this.#give(new CoreError('UNAVAILABLE', 'The client has gone.'));
  };

  readonly #rest = (): void => {
    this.#reply.raw.setTimeout(0);
  };

  /** Starts the idle timer: from now on the response waits for its client only. */
  watch(): void {
    if (this.#reply.raw.closed) return;
    // The next request on the connection may be a long wait, so the idle time ends with this response. Runs before
    // Node's own listener, which sets the timeout of an idle connection.
    this.#reply.raw.prependOnceListener('finish', this.#rest);
    this.prolong();
  }

  readonly pause = (): void => {
    if (this.#reply.raw.closed) return;
    this.#slow?.cancel();
    this.#rest();
  };

  readonly prolong = (): void => {
    if (this.#reply.raw.closed) return;
    const { idleMs, clock } = this.#options;
    // Node closes a connection on which nothing moves for that long.
    this.#reply.raw.setTimeout(idleMs);
    this.#slow?.cancel();
    this.#slow = clock.after(idleMs + this.#bytes / READ_BYTES_PER_MS_MIN, () => this.#reply.raw.destroy());
  };
}
