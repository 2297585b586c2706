/** Answers an OpenAI request with `"stream": true`: passes the worker's events through as they come. */
import type { FastifyReply } from 'fastify';
import { JobState } from '../../proto/gen/slipway/v1/job.ts';
import type { Chunk } from '../../proto/gen/slipway/v1/job.ts';
import { isFinal } from '../core-client/job-calls.ts';
import { publicError, toCoreError } from '../plugins/public-error.ts';
import { openaiErrorShape } from '../plugins/error-handler.ts';
import type { LiveResponse } from '../queue/live-response.ts';
import { frameEvent } from '../queue/sse.ts';
import { sendOpenaiError } from './answer-whole.ts';
import type { OpenaiJob } from './openai-job.ts';
import { DONE, errorEvent, streamPiece } from './stream-text.ts';
import { jobError } from './worker-error.ts';
import type { OpenaiError } from './worker-error.ts';

const WORKER_LOST: OpenaiError = {
  status: 500,
  error: { message: 'The worker was lost in the middle of its answer.', type: 'server_error', param: null, code: 'worker_lost' },
};

/** Streams until the job is final. Headers wait for the first output, so that a job that fails before it gets its proper status. */
export async function answerStream(job: OpenaiJob, live: LiveResponse, reply: FastifyReply): Promise<FastifyReply> {
  try {
    const error = await passThrough(job, live);
    if (error !== undefined && !live.started && !live.closed) return sendOpenaiError(reply, error);
    if (error !== undefined) await live.write(errorEvent(error));
  } catch (fault) {
    if (!live.started) throw fault;
    await live.write(frameEvent({ data: JSON.stringify(openaiErrorShape(publicError(toCoreError(fault)))) }));
  }
  if (!live.started) return reply.hijack();
  live.end();
  return reply;
}

/** Writes all output; answers the error that ended it, or undefined. */
async function passThrough(job: OpenaiJob, live: LiveResponse): Promise<OpenaiError | undefined> {
  const text = new StreamText(live);
  for await (const page of job.pages()) {
    for (const chunk of page.chunks) {
      const error = await text.add(chunk);
      if (error === undefined) continue;
      await job.leave();
      return error;
    }
    if (!isFinal(page.state) || page.more) continue;
    if (page.state !== JobState.COMPLETED) return jobError(page.state, page.error);
    return text.finish(live.started ? undefined : (await job.get()).output);
  }
  return undefined;
}

/** Writes chunks in order and remembers what has been written. */
class StreamText {
  readonly #live: LiveResponse;
  #done = false;
  #attempt = 0;

  constructor(live: LiveResponse) {
    this.#live = live;
  }

  /** Writes one chunk. What a lost attempt had written cannot be taken back, so a second attempt ends the stream with an error. */
  async add(chunk: Chunk): Promise<OpenaiError | undefined> {
    if (this.#live.started && chunk.attempt !== this.#attempt) return WORKER_LOST;
    this.#attempt = chunk.attempt;
    return this.#write(chunk.output);
  }

  /** Ends a completed stream. `output`: of a worker that did not stream at all. */
  async finish(output: Buffer | undefined): Promise<OpenaiError | undefined> {
    const error = output === undefined ? undefined : await this.#write(output);
    if (error === undefined && !this.#done) await this.#send(DONE);
    return error;
  }

  async #write(json: Buffer): Promise<OpenaiError | undefined> {
    const piece = streamPiece(json);
    if (piece.text !== '') await this.#send(piece.text);
    this.#done ||= piece.done;
    return piece.error;
  }

  async #send(text: string): Promise<void> {
    if (!this.#live.started && !this.#live.closed) this.#live.start('text/event-stream; charset=utf-8');
    await this.#live.write(text);
  }
}
