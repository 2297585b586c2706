/** Tells of workers that crashed: the whole reason once, then how often it has happened again. */
import type { Worker } from '../../proto/gen/slipway/v1/machine.ts';
import { WorkerState } from '../../proto/gen/slipway/v1/machine.ts';
import { plain, Repeats } from './repeats.ts';

const SEEN_MAX = 1_000;

export class WorkerCrashes {
  readonly #seen = new Set<string>();
  readonly #repeats = new Repeats();
  readonly #tell: { problem(text: string): void; step(text: string): void };

  constructor(tell: { problem(text: string): void; step(text: string): void }) {
    this.#tell = tell;
  }

  /** Looks through the workers of an endpoint; each is told of once. */
  look(endpoint: string, workers: readonly Worker[]): void {
    for (const { id, state, reason } of workers) {
      if (state !== WorkerState.UNHEALTHY || this.#seen.has(id)) continue;
      const [oldest] = this.#seen;
      if (this.#seen.size >= SEEN_MAX && oldest !== undefined) this.#seen.delete(oldest);
      this.#seen.add(id);
      const text = plain(reason).trimEnd();
      const times = this.#repeats.count(`${endpoint} ${text.replaceAll(id, '')}`);
      if (times === 1) this.#tell.problem(`Worker ${id} of ${endpoint} crashed; another one will be started in its place:\n${text}`);
      else if (times !== undefined) this.#tell.step(`worker ${id} of ${endpoint} crashed again (${times} times), same error: ${text.split('\n').at(-1)}`);
    }
  }
}
