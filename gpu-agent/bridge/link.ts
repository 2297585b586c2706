/**
 * Implements job-link: a connection on which a `slipway-worker` worker makes all calls that come with every job
 * (worker/frames.ts). Each call means the same as the request of the same name, and is answered at the same time as
 * that would be. Only requests and answers of the same moment travel together.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { delay } from '@slipway/kit/time/clock';
import type { Frame, NewFrame } from 'slipway-worker/frames';
import { Answer, FrameKind, FrameReader, FrameWriter, LINK_BODY_BYTES_MAX, LINK_PROTOCOL } from 'slipway-worker/frames';
import type { Worker } from '../workloads/workers/worker.ts';
import type { BridgeParts } from './bridge-parts.ts';
import type { Connections } from './connections.ts';
import { postResult } from './done-route.ts';
import type { HeldCall } from './open-polls.ts';
import { postValue } from './stream-route.ts';
import { BATCH_MAX, holdTake, LEAVING_PAUSE_MS } from './take-route.ts';
import { workerOf } from './worker-call.ts';

/** Data that workers are about to send. */
export interface IncomingFrames {
  /** Number of results and values that are being handled. */
  posts: number;
  /** Connections without a request so far: a client that opens one is about to send something. */
  fresh: Set<Socket>;
}

/**
 * Bytes of calls with unsent answers beyond which a link is not read. They are in memory, even if the worker reads
 * nothing.
 */
const UNANSWERED_BYTES_MAX = 16 * 1024 * 1024;
/** Least size that is counted for a call, so that the number of calls is bounded too. */
const CALL_BYTES = 8 * 1_024;
/** Head and name beside the body. */
const FRAME_BYTES_MAX = LINK_BODY_BYTES_MAX + 1_024;
const PATH = /^\/v2\/[^/]+\/([^/]+)\/job-link\/([^/?]+)(?:\?|$)/;

/** Returns true if a request is to become a link. */
export function asksForLink({ headers }: IncomingMessage): boolean {
  return headers.upgrade === LINK_PROTOCOL;
}

/** Dependencies that links share with the rest of the bridge. */
interface LinkDependencies {
  /** Links that are open. */
  links: Set<Duplex>;
  arriving: IncomingFrames;
  connections: Pick<Connections, 'own' | 'link'>;
}

/** Workers that broke the link protocol: they get no other link, only requests. */
const broke = new WeakSet<Worker>();
/**
 * Pause before such a worker's link request is rejected, in milliseconds. Together with the bound on its connections it
 * limits how often the worker can ask.
 */
const REJECT_DELAY_MS = 1_000;
const NO_LINK = 'HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n';
const NO_KEY = 'HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n';
const KINDS: ReadonlySet<number> = new Set([FrameKind.TAKE, FrameKind.RESULT, FrameKind.VALUE, FrameKind.PROGRESS]);

/** Opens links on a server that hands over requests for one. */
export function acceptLinks(
  server: Server,
  parts: BridgeParts,
  { links, arriving, connections }: LinkDependencies,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    arriving.fresh.delete(socket);
    socket.on('error', () => {});
    const [, token, workerId] = PATH.exec(request.url ?? '') ?? [];
    const worker =
      token !== undefined && workerId !== undefined
        ? workerOf(parts, { token, worker: workerId }, request.headers['user-agent'])
        : 'gone';
    if (typeof worker === 'string') return reject(socket, worker === 'gone' ? NO_LINK : NO_KEY);
    if (broke.has(worker)) {
      connections.own(socket, worker.id);
      return void delay(parts.clock, REJECT_DELAY_MS, parts.stopping).then(() => reject(socket, NO_LINK));
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${LINK_PROTOCOL}\r\n\r\n`);
    socket.setNoDelay(true);
    socket.setTimeout(0);
    // A server's sockets stay half open otherwise.
    socket.once('end', () => socket.end());
    links.add(socket);
    connections.link(socket, worker.id);
    socket.once('close', () => links.delete(socket));
    new WorkerLink({ parts, worker, socket, arriving }).receive(head);
  });
}

/**
 * Sends an answer and closes the socket. Further data on it is not read, not even its end, so it would otherwise stay
 * open.
 */
function reject(socket: Socket, answer: string): void {
  socket.end(answer, () => socket.destroy());
}

class WorkerLink {
  readonly #parts: BridgeParts;
  readonly #worker: Worker;
  readonly #socket: Socket;
  readonly #arriving: IncomingFrames;
  readonly #reader = new FrameReader(FRAME_BYTES_MAX);
  readonly #writer: FrameWriter;
  #held: LinkTake | undefined;
  #unanswered = 0;

  constructor({
    parts,
    worker,
    socket,
    arriving,
  }: { parts: BridgeParts; worker: Worker; socket: Socket; arriving: IncomingFrames }) {
    this.#parts = parts;
    this.#worker = worker;
    this.#socket = socket;
    this.#arriving = arriving;
    this.#writer = new FrameWriter(socket, (work) => parts.clock.soon(work));
    socket.on('data', (piece: Buffer) => this.receive(piece));
    socket.once('close', () => this.#held?.close());
  }

  /** Handles data that the worker sent. */
  receive(piece: Buffer): void {
    if (this.#socket.destroyed) return;
    let frames: Frame[];
    try {
      frames = this.#reader.push(piece);
    } catch (error) {
      return this.#break(error);
    }
    for (const frame of frames) {
      if (this.#worker.hasEnded) return void this.#socket.destroy();
      if (!KINDS.has(frame.kind)) return this.#break(new Error(`there is no call ${frame.kind}`));
      this.#count(bytesOf(frame));
      if (frame.kind === FrameKind.TAKE) void this.#take(frame);
      else this.#post(frame);
    }
  }

  /** Closes the link after data that is not of this protocol: nothing that follows can be understood. */
  #break(error: unknown): void {
    broke.add(this.#worker);
    this.#parts.logger.warn(
      { err: error, workerId: this.#worker.id, endpointId: this.#worker.endpointId },
      'a worker violated the protocol of its link',
    );
    this.#socket.destroy();
  }

  async #take(frame: Frame): Promise<void> {
    const { clock, stopping } = this.#parts;
    const [requested = 1, concurrency = 1, holds = 1] = frame.name.split(' ').map(Number);
    if (this.#worker.isStopping) {
      await delay(clock, LEAVING_PAUSE_MS, stopping);
      return this.#answer(frame, { flag: Answer.EMPTY });
    }
    const take = { requested: within(requested), batch: true, idle: holds === 0, concurrency: within(concurrency) };
    // A worker has one take open at a time, whatever it claims to be. More held takes would cost it nothing, but the
    // agent would have to check each.
    this.#held?.empty();
    holdTake(this.#parts, this.#worker, take, (onClosed) => {
      this.#held = new LinkTake((answer, written) => this.#answer(frame, answer, written), onClosed);
      return this.#held;
    });
  }

  /**
   * Handles a result, a value or a progress value. Uses no async functions for results: thousands of them wait for core
   * at a time, and each collection of young objects copies everything that waits.
   */
  #post(frame: Frame): void {
    this.#arriving.posts += 1;
    const over = (flag: number, written?: Written): void => {
      this.#arriving.posts -= 1;
      this.#answer(frame, { flag }, written);
    };
    const failed = (error: unknown): void => {
      // The worker then posts it instead.
      const attempt = this.#parts.holdings.get(this.#worker.id)?.of(name);
      this.#parts.logger.error(
        { err: error, workerId: this.#worker.id, endpointId: this.#worker.endpointId, ...attempt?.ref },
        'a call of a worker failed',
      );
      over(Answer.FAILED);
    };
    const { kind, flag, name, body: bytes } = frame;
    const isResult = kind === FrameKind.RESULT || kind === FrameKind.PROGRESS;
    if (!isResult) return void this.#value(frame).then((written) => over(Answer.DONE, written), failed);
    try {
      postResult(this.#parts, this.#worker, name, { body: { bytes }, isStream: flag === 1, continues: true }).then(
        () => over(Answer.DONE),
        failed,
      );
    } catch (error) {
      failed(error);
    }
  }

  /** Handles a value. Returns the callback to call once the answer is written. */
  async #value({ name, body: bytes }: Frame): Promise<Written | undefined> {
    const parts = this.#parts;
    const worker = this.#worker;
    const attempt = worker.outlives ? parts.holdings.get(worker.id)?.of(name) : undefined;
    if (attempt) parts.recorder.begun(attempt);
    const kept = await postValue(parts, worker, name, { bytes });
    return (
      kept &&
      ((error) => {
        if (!error) parts.recorder.answered(kept);
      })
    );
  }

  #answer(frame: Frame, answer: LinkAnswer, written?: Written): void {
    this.#writer.add({ call: frame.call, kind: FrameKind.ANSWER, ...answer }, (error) => {
      this.#count(-bytesOf(frame));
      written?.(error);
    });
  }

  #count(bytes: number): void {
    const was = this.#unanswered > UNANSWERED_BYTES_MAX;
    this.#unanswered += bytes;
    const is = this.#unanswered > UNANSWERED_BYTES_MAX;
    if (is && !was) this.#socket.pause();
    if (was && !is) this.#socket.resume();
  }
}

/** Content of an answer. */
type LinkAnswer = Pick<NewFrame, 'flag' | 'body'>;
/** Called when the operating system has an answer, or with the error if it does not get it. */
type Written = (error?: Error | null) => void;

/** A take that is held open. */
class LinkTake implements HeldCall {
  readonly tracesInJobs = true;
  readonly #answer: (answer: LinkAnswer, written?: Written) => void;
  readonly #onClosed: () => void;
  #open = true;

  constructor(answer: (answer: LinkAnswer, written?: Written) => void, onClosed: () => void) {
    this.#answer = answer;
    this.#onClosed = onClosed;
  }

  empty(): void {
    if (this.close()) this.#answer({ flag: Answer.EMPTY });
  }

  answer(body: readonly Uint8Array[]): Promise<boolean> {
    if (!this.close()) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#answer({ flag: Answer.DONE, body }, (error) => resolve(!error));
    });
  }

  /** Closes the take to answers. Returns false if it was closed already. */
  close(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#onClosed();
    return true;
  }
}

function bytesOf({ body }: Frame): number {
  return CALL_BYTES + body.length;
}

function within(count: number): number {
  return Math.min(Math.max(Math.trunc(count) || 1, 1), BATCH_MAX);
}
