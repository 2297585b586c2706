/** One call on a pipeline, from its creation by a route until it is answered, abandoned or rejected. */
import type { PipelineCall, PipelineReply } from '@slipway/proto/gen/slipway/v1/job_service';
import { WAIT_GRACE_MS } from '@slipway/proto/wire/limits';
import { CoreError } from '@slipway/proto/wire/reason';

/** A call, without its id and key. */
export type CallMessage = NonNullable<PipelineCall['call']>;
/** A reply that is not an error. */
export type ReplyMessage = Exclude<NonNullable<PipelineReply['reply']>, { $case: 'error' }>;

/** Options of a call. */
interface TicketOptions {
  apiKey: string;
  message: CallMessage;
  /** Longest time that core may hold the call, in milliseconds. 0: core answers at once. */
  waitMs: number;
  /** Idempotent: may be sent again after an unknown outcome. */
  repeatable: boolean;
  /** Current monotonic time in milliseconds. */
  nowMs: number;
}

/** Bytes of a call besides its input, roughly. */
const CALL_OVERHEAD_BYTES = 256;

/** Times are monotonic, in milliseconds. */
export class PipelineTicket {
  readonly apiKey: string;
  readonly message: CallMessage;
  readonly repeatable: boolean;
  /** Size on the wire, roughly. */
  readonly bytes: number;
  /** End of the caller's wait. */
  readonly waitUntilMs: number;
  /** Time at which the call is given up, even if core is silent. */
  readonly giveUpAtMs: number;
  readonly answer: Promise<ReplyMessage>;
  /** Number on its present link; 0 while it is on none. */
  callId = 0;
  /** Times it was put on a link. */
  sends = 0;
  /** Replies that a replica's database is away. Each replica is asked once. */
  databaseAwayReplies = 0;
  /** Time since which it has been without a working core. */
  troubleSinceMs: number | undefined;
  /** Earliest time of the next send. */
  notBeforeMs = 0;
  /** The caller has disconnected, or its wait has ended: only an early answer is needed. */
  abandoned = false;
  /** AbandonCall has been sent on its present link. */
  abandonSent = false;
  #settled = false;
  readonly #waits: boolean;
  #resolve!: (reply: ReplyMessage) => void;
  #reject!: (error: CoreError) => void;

  constructor(options: TicketOptions) {
    this.apiKey = options.apiKey;
    this.message = options.message;
    this.repeatable = options.repeatable;
    this.#waits = options.waitMs > 0;
    this.waitUntilMs = options.nowMs + options.waitMs;
    this.giveUpAtMs = this.waitUntilMs + WAIT_GRACE_MS;
    this.bytes = CALL_OVERHEAD_BYTES + inputBytes(options.message);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Endpoint that it submits a job to. */
  get submitsTo(): string | undefined {
    return this.message.$case === 'submit' || this.message.$case === 'submitAndWait'
      ? this.message.value.endpointId
      : undefined;
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Core may hold it; it can be abandoned. */
  get waits(): boolean {
    return this.#waits;
  }

  /** Returns the message for this send. A call that is sent again only waits for the rest of its wait. */
  messageAt(nowMs: number): CallMessage {
    const leftMs = this.abandoned ? 0 : Math.max(0, Math.round(this.waitUntilMs - nowMs));
    if (this.sends <= 1) return this.message;
    if (this.message.$case === 'wait') return { $case: 'wait', value: { ...this.message.value, waitMs: leftMs } };
    if (this.message.$case === 'chunks') return { $case: 'chunks', value: { ...this.message.value, waitMs: leftMs } };
    // submitAndWait keeps its wait, which decides how long the result is stored. The client's sweep ends it in time.
    return this.message;
  }

  resolve(reply: ReplyMessage): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#resolve(reply);
  }

  reject(error: CoreError): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#reject(error);
  }
}

/** Returns the error for an unreachable core. */
export function unreachable(cause?: unknown): CoreError {
  return new CoreError('UNAVAILABLE', 'The service is not reachable right now; try again shortly.', { cause });
}

function inputBytes(message: CallMessage): number {
  return message.$case === 'submit' || message.$case === 'submitAndWait' ? message.value.input.length : 0;
}
