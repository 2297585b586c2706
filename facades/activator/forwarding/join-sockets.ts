/** Joins two sockets to one WebSocket, until one of them ends, both are idle for too long, or the key is revoked. */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { WatchKey } from '../../plugins/limits/key-watch.ts';
import { closeFrame, FrameEnds, POLICY_VIOLATION } from '../socket-frames.ts';

/** Longest time in which one side may end after the other has ended, in milliseconds. */
const END_MS = 5_000;
/**
 * Longest time in which the worker's current frame may end after the key was revoked, in milliseconds. A close frame
 * cannot be inside another frame.
 */
const FRAME_MS = 1_000;

interface JoinedSockets {
  client: Socket;
  worker: Duplex;
  /** Longest time without bytes in either direction, in milliseconds. */
  idleMs: number;
  /** `undefined` if no key opened the connection. */
  watchKey: WatchKey | undefined;
}

/** Joins two sockets. `onOver` is called when both have ended or will end soon. */
export function joinSockets(joined: JoinedSockets, clock: Clock, onOver: () => void): void {
  new SocketPair(joined, clock, onOver).join();
}

class SocketPair {
  readonly #joined: JoinedSockets;
  readonly #clock: Clock;
  readonly #onOver: () => void;
  readonly #frames = new FrameEnds();
  #unwatch = (): void => undefined;
  #isOver = false;
  #isRevoked = false;
  #endTimer: Timer | undefined;

  constructor(joined: JoinedSockets, clock: Clock, onOver: () => void) {
    this.#joined = joined;
    this.#clock = clock;
    this.#onOver = onOver;
  }

  join(): void {
    const { client, worker, idleMs, watchKey } = this.#joined;
    const end = (): void => this.#end();
    client.setTimeout(idleMs, end);
    for (const side of [client, worker]) {
      side.on('error', end);
      side.once('close', end);
      // The other side may still send, but may never end by itself.
      side.once('end', () => {
        this.#endTimer ??= this.#isOver ? undefined : this.#clock.after(END_MS, end);
      });
    }
    // Until now the socket was watched for its end only (client-gone.ts). From now on it is read.
    client.removeAllListeners('readable');
    client.pipe(worker);
    if (!watchKey) return void worker.pipe(client);
    worker.on('data', (piece: Buffer) => this.#toClient(piece));
    worker.once('end', () => client.end());
    client.on('drain', () => worker.resume());
    this.#unwatch = watchKey(() => this.#revoke());
  }

  /** Pipes bytes to the client and tracks frame boundaries. */
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
    // From now on no byte of the client reaches the worker.
    this.#joined.client.unpipe(this.#joined.worker);
    if (this.#frames.isBetween) this.#close();
    else this.#endTimer ??= this.#clock.after(FRAME_MS, () => this.#end());
  }

  #close(): void {
    this.#joined.client.write(closeFrame(POLICY_VIOLATION, 'invalid api key'));
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch();
    this.#endTimer?.cancel();
    const { client, worker } = this.#joined;
    client.destroySoon();
    worker.end();
    const timer = this.#clock.after(END_MS, () => worker.destroy());
    worker.once('close', () => timer.cancel());
    this.#onOver();
  }
}
