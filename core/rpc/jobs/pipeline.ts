/**
 * The pipeline: many calls on one stream, answered in batches as soon as they are ready. A stream whose peer does not
 * read is not read either.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import type { Clock } from '@slipway/kit/time/clock';
import type {
  PipelineCall,
  PipelineReply,
  PipelineRequest,
  PipelineResponse,
} from '@slipway/proto/gen/slipway/v1/job_service';
import { PIPELINE_CALLS_MAX } from '@slipway/proto/wire/limits';
import { REASONS } from '@slipway/proto/wire/reason';
import type { Job } from '../../domain/jobs/job.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { WaitStopper } from '../../jobs/read/wait-stopper.ts';
import { fromSource } from '../../store/accounts/call-source.ts';
import type { Health } from '../server/health.ts';
import { claimedSource } from '../server/source-of-call.ts';
import { refusalOf } from '../server/unary.ts';
import type { JobRpc } from './job-rpc.ts';

type Stream = ServerDuplexStream<PipelineRequest, PipelineResponse>;
type Reply = NonNullable<PipelineReply['reply']>;

/** Unanswered calls of one stream at which reading stops, and below which it continues. */
const UNANSWERED_MAX = 20_000;
const UNANSWERED_LOW = 15_000;
/** The same for waiting calls. */
const WAITS_MAX = 100_000;
const WAITS_LOW = 75_000;
/** Bytes of unwritten responses at which reading stops. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** Most large outputs and pages of chunks that were read from the database and are not written yet. */
const LARGE_MAX = 4;
/** Most responses in one message. */
const REPLIES_MAX = 1_000;
/** Longest part of an id in a log line. */
const ID_LENGTH_MAX = 100;

interface PipelineOptions {
  rpc: JobRpc;
  clock: Clock;
  logger: Logger;
  onEnd(): void;
  health: Pick<Health, 'databaseAway'>;
}

/** One stream of one caller, from open to end. */
export class Pipeline {
  readonly #stream: Stream;
  readonly #rpc: JobRpc;
  readonly #logger: Logger;
  /** Unanswered calls. */
  readonly #open = new Set<number>();
  /** Calls among them that may wait. */
  readonly #waits = new Map<number, WaitStopper>();
  /** Unanswered submissions whose jobs were not taken by a worker at once. */
  readonly #queued = new Set<number>();
  /**
   * Calls that read a large output or a page of chunks, and those that wait for their permit. Without the limit all of
   * them would be in memory before the first is written.
   */
  readonly #large = new Set<number>();
  readonly #largeWaiting = new Map<number, { begin(): void; give(error: Error): void }>();
  readonly #replies = new BatchQueue<PipelineReply>({ bytes: WAITING_BYTES_MAX });
  readonly #sending: BatchingStream<PipelineResponse>;
  #ended = false;
  /** True if the peer sends no more calls. */
  #finished = false;
  readonly #onEnd: () => void;
  readonly #health: PipelineOptions['health'];

  constructor(stream: Stream, { rpc, clock, logger, onEnd, health }: PipelineOptions) {
    this.#stream = stream;
    this.#health = health;
    this.#rpc = rpc;
    this.#logger = logger;
    this.#onEnd = onEnd;
    this.#sending = new BatchingStream({
      sink: stream,
      clock,
      take: () => this.#take(),
      onLeft: ({ replies }) => this.#left(replies),
    });
    stream.on('data', (request: PipelineRequest) => this.#receive(request));
    stream.on('end', () => {
      this.#finished = true;
      this.#endWhenAnswered();
    });
    for (const event of ['cancelled', 'error', 'close']) stream.on(event, () => this.#end());
  }

  /** Ends all waits, which are answered with the current state, and accepts no more calls. */
  close(): void {
    this.#finished = true;
    for (const wait of this.#waits.values()) wait.stop();
    this.#endWhenAnswered();
  }

  #receive({ calls }: PipelineRequest): void {
    if (this.#finished || this.#ended) return;
    for (const [index, call] of calls.entries()) {
      if (call.call?.$case !== 'abandon' && this.#open.has(call.callId)) return this.#reject(call.callId);
      this.#handle(call, index < PIPELINE_CALLS_MAX);
    }
    this.#throttle();
  }

  /** Ends the stream: the answers to two calls with one number could not be told apart, here or by the caller. */
  #reject(callId: number): void {
    const details = `call_id ${callId} is in use: give each call of a stream its own number`;
    this.#end();
    this.#stream.emit('error', Object.assign(new Error(details), { code: status.INVALID_ARGUMENT, details }));
  }

  #handle({ callId, apiKey, call, firstSend = false }: PipelineCall, isServed: boolean): void {
    if (call?.$case === 'abandon') return this.#waits.get(call.value.callId)?.stop();
    this.#open.add(callId);
    if (!isServed)
      return this.#reply(
        callId,
        error('INVALID_REQUEST', `a message may carry at most ${PIPELINE_CALLS_MAX} calls; send this one in another`),
      );
    this.#answer(callId, apiKey, call, firstSend).then(
      (reply) => this.#reply(callId, reply),
      (failure: unknown) => this.#reply(callId, this.#failure(failure, call)),
    );
  }

  async #answer(callId: number, apiKey: string, call: PipelineCall['call'], isFirstSend: boolean): Promise<Reply> {
    switch (call?.$case) {
      case 'submit':
        return { $case: 'submit', value: await this.#rpc.submit(call.value, apiKey) };
      case 'get':
        return { $case: 'get', value: await this.#rpc.get(call.value, apiKey, () => this.#acquireMemory(callId)) };
      case 'cancel':
        return { $case: 'cancel', value: await this.#rpc.cancel(call.value, apiKey) };
      case 'wait': {
        const acquireMemory = (): Promise<void> => this.#acquireMemory(callId);
        return { $case: 'wait', value: await this.#rpc.wait(call.value, apiKey, this.#wait(callId), acquireMemory) };
      }
      case 'chunks': {
        const acquireMemory = (): Promise<void> => this.#acquireMemory(callId);
        return {
          $case: 'chunks',
          value: await this.#rpc.chunks(call.value, apiKey, this.#wait(callId), acquireMemory),
        };
      }
      case 'submitAndWait': {
        const onStored = ({ state }: Job): void => {
          if (state === 'IN_QUEUE') this.#queued.add(callId);
        };
        return {
          $case: 'wait',
          value: await this.#rpc.submitAndWait(call.value, apiKey, this.#wait(callId), { onStored, isFirstSend }),
        };
      }
      case 'checkAccess':
        return {
          $case: 'checkAccess',
          value: await fromSource(
            () => claimedSource(call.value.callerAddress ?? '', this.#stream),
            () => this.#rpc.checkAccess(call.value, apiKey),
          ),
        };
      case 'abandon':
      case undefined:
        return error('INVALID_REQUEST', 'the call is empty or of a newer version');
    }
  }

  #wait(callId: number): WaitStopper {
    const wait = new WaitStopper();
    this.#waits.set(callId, wait);
    return wait;
  }

  async #acquireMemory(callId: number): Promise<void> {
    if (this.#ended) throw new DomainError('UNAVAILABLE', 'The caller has gone.');
    if (this.#large.size >= LARGE_MAX) {
      await new Promise<void>((begin, give) => {
        this.#largeWaiting.set(callId, { begin, give });
      });
    } else this.#large.add(callId);
  }

  /** Handles responses that were written, or never will be. */
  #written(replies: readonly PipelineReply[]): void {
    for (const { callId } of replies) {
      if (!this.#large.delete(callId)) continue;
      const [next] = this.#largeWaiting;
      if (!next) continue;
      this.#largeWaiting.delete(next[0]);
      this.#large.add(next[0]);
      next[1].begin();
    }
  }

  #failure(failure: unknown, call: PipelineCall['call']): Reply {
    const { reason, message, databaseAway } = refusalOf(failure);
    const isAway = databaseAway || (reason === 'UNAVAILABLE' && this.#health.databaseAway);
    const ids = { call: call?.$case, ...(call && call.$case !== 'abandon' && idsOf(call.value)) };
    if (reason === 'INTERNAL') this.#logger.error({ err: failure, ...ids }, 'a pipelined call failed');
    else if (reason === 'UNAVAILABLE')
      this.#logger.warn({ err: failure, ...ids }, 'a pipelined call could not be served now');
    return error(reason, message, isAway);
  }

  #reply(callId: number, reply: Reply): void {
    this.#waits.delete(callId);
    const wasQueued = this.#queued.delete(callId);
    this.#open.delete(callId);
    if (this.#ended) return;
    this.#replies.add({ callId, reply, ...(wasQueued && { wasQueued }) }, sizeOf(reply));
    this.#sending.wake();
  }

  #take(): PipelineResponse | undefined {
    const replies = this.#replies.take(new MessageBudget({ items: REPLIES_MAX }));
    return replies.length > 0 ? { replies } : undefined;
  }

  #left(replies: readonly PipelineReply[]): void {
    this.#written(replies);
    this.#throttle();
    this.#endWhenAnswered();
  }

  /** Pauses or resumes reading. Waiting calls cost nothing and do not count as long as the responses are read. */
  #throttle(): void {
    if (this.#ended) return;
    const busy = this.#open.size - this.#waits.size + this.#replies.length;
    const waits = this.#waits.size;
    if (busy > UNANSWERED_MAX || waits > WAITS_MAX || this.#replies.isFull) this.#stream.pause();
    else if (this.#stream.isPaused() && busy < UNANSWERED_LOW && waits < WAITS_LOW) this.#stream.resume();
  }

  #endWhenAnswered(): void {
    if (!this.#finished || this.#ended || this.#open.size > 0 || this.#replies.length > 0) return;
    this.#stream.end();
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sending.stop();
    this.#replies.clear();
    for (const wait of this.#waits.values()) wait.stop();
    for (const { give } of this.#largeWaiting.values()) give(new DomainError('UNAVAILABLE', 'The caller has gone.'));
    this.#largeWaiting.clear();
    this.#onEnd();
  }
}

function error(reason: keyof typeof REASONS, message: string, databaseAway = false): Reply {
  return { $case: 'error', value: { code: REASONS[reason].grpc, reason, message, databaseAway } };
}

/** Returns the approximate bytes of a response. Only outputs and chunks matter. */
function sizeOf(reply: Reply): number {
  if (reply.$case === 'get' || reply.$case === 'wait') return 256 + (reply.value.job?.output?.length ?? 0);
  if (reply.$case !== 'chunks') return 256;
  return reply.value.chunks.reduce(
    (bytes, { output, metrics }) => bytes + output.length + (metrics?.length ?? 0) + 64,
    256,
  );
}

/** Returns the ids of a call for the log, shortened: the caller chose them, and they may be long. */
function idsOf(call: { endpointId?: string; jobId?: string; requestId?: string }): Record<string, string> {
  const { endpointId, jobId, requestId } = call;
  return Object.fromEntries(
    Object.entries({ endpointId, jobId, requestId }).flatMap(([name, id]) =>
      id ? [[name, id.slice(0, ID_LENGTH_MAX)]] : [],
    ),
  );
}
