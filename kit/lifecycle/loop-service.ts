/** A service that runs a loop, with setup and cleanup beside it. */

import type { LoopOptions } from './loop.ts';
import { Loop } from './loop.ts';
import { BaseService } from './service.ts';

/**
 * Runs passes between start and stop. Subclasses set up before `super.onStart()` and clean up around
 * `super.onStop()`.
 */
export abstract class LoopService extends BaseService {
  readonly name: string;
  readonly #loop: Loop;

  constructor(options: Omit<LoopOptions, 'pass'>) {
    super();
    this.name = options.name;
    this.#loop = new Loop({ ...options, pass: () => this.pass() });
  }

  /** Makes one pass (LoopOptions.pass). */
  protected abstract pass(): Promise<boolean | void>;

  /** Asks for a pass soon. */
  protected wake(): void {
    this.#loop.wake();
  }

  protected override onStart(): Promise<void> {
    return this.#loop.start();
  }

  protected override onStop(): Promise<void> {
    return this.#loop.stop();
  }
}
