/**
 * Base of the services that read backends: after each hint of a change, and periodically, which finds missed changes.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import type { Stores } from '../store/storage.ts';

export interface BackendWatchOptions {
  edge: Pick<Stores['edge'], 'backends'>;
  events: CoreEvents;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Receives hints about endpoints that changed, or whose backends changed. */
export abstract class BackendWatch extends LoopService {
  protected readonly options: BackendWatchOptions;
  #offs: (() => void)[] = [];

  constructor(options: BackendWatchOptions, loop: { name: string; periodMs: number }) {
    super({ ...options, ...loop });
    this.options = options;
  }

  /** Marks endpoints that may have changed. */
  protected abstract hint(endpointIds: readonly string[]): void;

  protected override async onStart(): Promise<void> {
    const { events } = this.options;
    this.#offs = [events.on('rotation', (ids) => this.hint(ids)), events.on('endpoints', (ids) => this.hint(ids))];
    await super.onStart();
  }

  protected override async onStop(): Promise<void> {
    for (const off of this.#offs) off();
    await super.onStop();
  }
}
