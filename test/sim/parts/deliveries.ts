/** Records which outcomes of handlers core has acknowledged over the link that their attempt came over. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { SimLink } from './sim-link.ts';
import type { SimMachineOptions } from './sim-worker.ts';
import { nameOf } from './sim-worker.ts';

export class Deliveries {
  readonly #options: Pick<SimMachineOptions, 'world' | 'record'>;
  readonly #links = new Map<string, SimLink>();

  constructor(options: Pick<SimMachineOptions, 'world' | 'record'>) {
    this.#options = options;
  }

  /** A handler has ended, and its outcome is to be sent. `link`: the one over which its attempt came. */
  expect(ref: AttemptRef, link: SimLink | undefined): void {
    if (link) this.#links.set(nameOf(ref), link);
  }

  /** Core has acknowledged an outcome. Over another link the attempt may have been lost before: that is no delivery. */
  acknowledged(ref: AttemptRef, link: SimLink): void {
    const { world, record } = this.#options;
    if (this.#links.get(nameOf(ref)) !== link) return;
    this.#links.delete(nameOf(ref));
    record({ is: 'delivered', atMs: world.nowMs, job: ref.jobId, attempt: ref.attempt });
  }
}
