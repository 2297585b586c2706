/** Two sockets that have become one WebSocket: each gets what the other says, until one of them ends, is silent for too long, or its key was revoked. */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { WatchKey } from '../plugins/key-watch.ts';
import { closeFrame, FrameEnds, POLICY_VIOLATION } from './socket-frames.ts';

/** How long one side may take to end what the other has ended, in milliseconds. */
const END_MS = 5_000;
/** How long the worker's present frame may take to end once the key was revoked, in milliseconds: a close frame inside it would be part of it. */
const FRAME_MS = 1_000;

/** What is joined. */
export interface Joined {
  client: Socket;
  worker: Duplex;
  /** Longest silence of both, in milliseconds. */
  idleMs: number;
  /** Undefined: no key opened it. */
  watchKey: WatchKey | undefined;
}

/** Joins them. `onOver`: both have ended, or will soon. */
export function joinSockets(joined: Joined, clock: Clock, onOver: () => void): void {
  new SocketPair(joined, clock, onOver).join();
}

class SocketPair {
  readonly #joined: Joined;
  readonly #clock: Clock;
  readonly #onOver: () => void;
  readonly #frames = new FrameEnds();
  #unwatch = (): void => undefined;
  #isOver = false;
  #isRevoked = false;
  #lastWords: Timer | undefined;

  constructor(joined: Joined, clock: Clock, onOver: () => void) {
    this.#joined = joined;
    this.#clock = clock;
    this.#onOver = onOver;
  }

  join(): void {
    const { client, worker, idleMs, watchKey } = this.#joined;
    const end = (): void => this.#end();
    // Whatever passes, passes here too.
    client.setTimeout(idleMs, end);
    for (const side of [client, worker]) {
      side.on('error', end);
      side.once('close', end);
      // The other side may have something to say yet, and may be a server that never ends by itself.
      side.once('end', () => { this.#lastWords ??= this.#isOver ? undefined : this.#clock.after(END_MS, end); });
    }
    // Its end was waited for; from here on it is read.
    client.removeAllListeners('readable');
    client.pipe(worker);
    if (!watchKey) return void worker.pipe(client);
    worker.on('data', (piece: Buffer) => this.#toClient(piece));
    worker.once('end', () => client.end());
    client.on('drain', () => worker.resume());
    this.#unwatch = watchKey(() => this.#revoke());
  }

  /** As a pipe does, and knows where frames end. */
  #toClient(piece: Buffer): void {
    if (this.#isOver) return;
    const { client, worker } = this.#joined;
    const whole = this.#frames.pass(piece);
    if (this.#isRevoked && whole > 0) {
      client.write(piece.subarray(0, whole));
      return this.#close();
    }
    if (!client.write(piece)) worker.pause();
  }

  #revoke(): void {
    if (this.#isOver) return;
    this.#isRevoked = true;
    // From now on nothing of the client reaches the worker.
    this.#joined.client.unpipe(this.#joined.worker);
    if (this.#frames.isBetween) this.#close();
    else this.#lastWords ??= this.#clock.after(FRAME_MS, () => this.#end());
  }

  #close(): void {
    this.#joined.client.write(closeFrame(POLICY_VIOLATION, 'invalid api key'));
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch();
    this.#lastWords?.cancel();
    const { client, worker } = this.#joined;
    client.destroySoon();
    worker.end();
    const timer = this.#clock.after(END_MS, () => worker.destroy());
    worker.once('close', () => timer.cancel());
    this.#onOver();
  }
}
