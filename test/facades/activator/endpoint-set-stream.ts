/** The two ends of a stream of backends in memory, also as they were before versions. */

import { EventEmitter } from 'node:events';
import { Metadata } from '@grpc/grpc-js';
import type { WatchRotationRequest, WatchRotationResponse } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { SteppingClock } from '../../helpers/time/stepping-clock.ts';

/** The time that passes, and how long a message takes, in milliseconds. */
interface Way {
  clock: SteppingClock;
  lagMs(): number;
}

/** One end of a stream as both sides use it. */
export class End extends EventEmitter {
  readonly #way: Way;
  readonly metadata = new Metadata();
  other!: End;
  isOpen = true;
  /** Changes what arrives; undefined: as it was sent. */
  change: ((message: unknown) => unknown) | undefined;
  #isPaused = false;
  #lastAtMs = 0;
  #arrived: unknown[] = [];

  constructor(way: Way) {
    super();
    this.#way = way;
  }

  write(message: unknown, left: () => void): void {
    const { clock } = this.#way;
    const now = clock.monotonicMs();
    // In order, however long each takes.
    this.#lastAtMs = Math.max(this.#lastAtMs, now + this.#way.lagMs());
    clock.after(this.#lastAtMs - now, () => {
      if (this.isOpen) left();
      if (this.other.isOpen) this.other.arrive(structuredClone(message));
    });
  }

  arrive(message: unknown): void {
    this.#arrived.push(message);
    this.#flow();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    setImmediate(() => this.#flow());
  }

  end(): void {
    this.#way.clock.after(this.#way.lagMs(), () => {
      if (this.other.isOpen) this.other.emit('end');
    });
  }

  cancel(): void {
    this.cut();
  }

  /** Both sides see it at once. */
  cut(): void {
    if (!this.isOpen) return;
    this.isOpen = this.other.isOpen = false;
    for (const [end, event] of [
      [this, 'error'],
      [this.other, 'cancelled'],
    ] as const)
      if (end.listenerCount(event) > 0) end.emit(event, new Error('cut'));
  }

  #flow(): void {
    while (!this.#isPaused && this.#arrived.length > 0) {
      const message = this.#arrived.shift();
      this.emit('data', this.change ? this.change(message) : message);
    }
  }
}

export function withoutVersions(message: unknown): unknown {
  const { demands } = message as WatchRotationRequest;
  return { demands: demands.map(({ version: _, ...demand }) => demand) };
}

/**
 * Makes core rely on its own record of what it sent to the facade, as releases before versions did. Facades receive no
 * versions.
 */
export function asBeforeVersions(near: End, far: End, clock: SteppingClock): void {
  const sent = new Map<string, { heardAtMs: number; version: string | undefined }>();
  const forgetLater = (): void => {
    clock.after(LINK_TIMERS.subscriptionMs, () => {
      for (const [id, { heardAtMs }] of sent)
        if (heardAtMs < clock.monotonicMs() - LINK_TIMERS.subscriptionMs) sent.delete(id);
      if (far.isOpen) forgetLater();
    });
  };
  forgetLater();
  far.change = (message) => ({
    demands: (message as WatchRotationRequest).demands.map((demand) => {
      const known = sent.get(demand.endpointId) ?? { heardAtMs: 0, version: undefined };
      sent.set(demand.endpointId, Object.assign(known, { heardAtMs: clock.monotonicMs() }));
      return { ...demand, version: known.version };
    }),
  });
  near.change = (message) => {
    const { rotations, refusals } = message as WatchRotationResponse;
    for (const { endpointId } of refusals) sent.delete(endpointId);
    for (const { endpointId, version } of rotations) if (sent.has(endpointId)) sent.get(endpointId)!.version = version;
    return { refusals, rotations: rotations.map((endpointSet) => ({ ...endpointSet, version: '' })) };
  };
}
