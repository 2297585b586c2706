/** Responds to an OpenAI request with `"stream": true`: forwards events of the worker. */

import type { ErrorCode } from '@slipway/kit/net/error-help';
import type { OpenaiError } from '@slipway/kit/openai/worker-error';
import type { Clock } from '@slipway/kit/time/clock';
import type { Chunk } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { FastifyReply } from 'fastify';
import type { LiveResponse } from '../jobs/live-response.ts';
import { frameEvent } from '../jobs/sse.ts';
import { openaiErrorShape } from '../plugins/errors/error-handler.ts';
import { publicError, toCoreError } from '../plugins/errors/public-error.ts';
import { sendOpenaiError } from './answer-whole.ts';
import { errorOfJob } from './job-error.ts';
import type { OpenaiJob } from './openai-job.ts';
import { DONE, errorEvent, streamPiece } from './stream-text.ts';

const WORKER_LOST: OpenaiError = {
  status: 500,
  error: {
    message: 'The worker was lost in the middle of its answer.',
    type: 'server_error',
    param: null,
    code: 'worker_lost' satisfies ErrorCode,
  },
};

const EVENTS = 'text/event-stream; charset=utf-8';
/**
 * Longest wait for the first output before headers are sent, and time between keep-alive comments, in milliseconds.
 * After the headers errors are sent in the stream.
 */
const SILENCE = { firstMs: 5_000, everyMs: 15_000 };

/** Streams until the job is final. A job that fails soon, and before any output, gets its proper status. */
export async function answerStream(
  job: OpenaiJob,
  live: LiveResponse,
  reply: FastifyReply,
  clock: Clock,
): Promise<FastifyReply> {
  const speak = live.keepAlive(clock, SILENCE, EVENTS);
  try {
    const error = await passThrough(job, new StreamText(job, live, speak));
    if (error !== undefined && !live.started && !live.closed) return sendOpenaiError(reply, error);
    if (error !== undefined) await live.write(errorEvent(error));
  } catch (fault) {
    if (!live.started) throw fault;
    await live.write(frameEvent({ data: JSON.stringify(openaiErrorShape(publicError(toCoreError(fault)))) }));
  } finally {
    speak();
  }
  if (!live.started) return reply.hijack();
  live.end();
  return reply;
}

/** Writes all output. Returns the error that ended it, or `undefined`. */
async function passThrough(job: OpenaiJob, text: StreamText): Promise<OpenaiError | undefined> {
  for await (const page of job.pages()) {
    for (const chunk of page.chunks) {
      const error = await text.add(chunk);
      if (error === undefined) continue;
      await job.leave();
      return error;
    }
    if (!isFinal(page.state) || page.more) continue;
    if (page.state !== JobState.COMPLETED) return errorOfJob(page.state, page.error);
    return text.finish(text.empty ? (await job.get()).output : undefined);
  }
  return undefined;
}

/** Writes chunks in order and tracks the position. */
class StreamText {
  readonly #job: OpenaiJob;
  readonly #live: LiveResponse;
  readonly #beforeFirst: () => void;
  #empty = true;
  #done = false;
  #attempt = 0;

  constructor(job: OpenaiJob, live: LiveResponse, beforeFirst: () => void) {
    this.#job = job;
    this.#live = live;
    this.#beforeFirst = beforeFirst;
  }

  /** No output has been written yet. */
  get empty(): boolean {
    return this.#empty;
  }

  /** Writes one chunk. If an attempt was lost after it had written output, ends the stream with an error. */
  async add(chunk: Chunk): Promise<OpenaiError | undefined> {
    if (!this.#empty && chunk.attempt !== this.#attempt) return WORKER_LOST;
    this.#attempt = chunk.attempt;
    return this.#write(chunk.output);
  }

  /** Ends a completed stream. `output`: output of a worker that did not stream at all. */
  async finish(output: Buffer | undefined): Promise<OpenaiError | undefined> {
    const error = output === undefined ? undefined : await this.#write(output);
    if (error === undefined && !this.#done) await this.#send(DONE);
    return error;
  }

  async #write(json: Buffer): Promise<OpenaiError | undefined> {
    const piece = await this.#job.work(json.length, streamPiece(json));
    if (piece.text !== '') await this.#send(piece.text);
    this.#done ||= piece.done;
    return piece.error;
  }

  async #send(text: string): Promise<void> {
    if (this.#empty) this.#beforeFirst();
    this.#empty = false;
    if (!this.#live.started && !this.#live.closed) this.#live.start(EVENTS);
    await this.#live.write(text);
  }
}
