/**
 * Finds endpoints whose workers can never start, before a first job waits for one: no machine could take it, or a
 * secret is missing.
 */

import type { Clock } from '@slipway/kit/time/clock';
import type { CannotRunReason } from '../domain/reports/cannot-run-reason.ts';
import { withoutSecret } from '../domain/reports/cannot-run-reason.ts';
import { cannotRunOf } from '../domain/scaling/placement.ts';
import type { PlacementMachine } from '../domain/scaling/placement-machine.ts';
import type { Stores } from '../store/storage.ts';

/** Milliseconds for which the list of machines is reused. */
const FRESH_MS = 500;
const MOMENT_MS = 100;

export class CannotRun {
  readonly #stores: Pick<Stores, 'machines' | 'scales' | 'secrets'>;
  readonly #clock: Clock;
  #machines: Promise<PlacementMachine[]> | undefined;
  #readAtMs = -Infinity;

  constructor(stores: Pick<Stores, 'machines' | 'scales' | 'secrets'>, clock: Clock) {
    this.#stores = stores;
    this.#clock = clock;
  }

  /** Returns the given endpoints whose workers can never start, with the reason. */
  async of(endpointIds: readonly string[]): Promise<Map<string, CannotRunReason>> {
    if (endpointIds.length === 0) return new Map();
    const [machines, requests, secrets] = await Promise.all([
      this.#read(FRESH_MS),
      this.#stores.scales.requestsOf(endpointIds),
      this.#stores.secrets.missingFor(endpointIds),
    ]);
    const cannotRun = cannotRunOf(machines);
    return new Map(
      requests.flatMap((request) => {
        const secret = secrets.get(request.id);
        const refusal = secret ? withoutSecret(secret) : cannotRun(request);
        return refusal ? [[request.id, refusal] as const] : [];
      }),
    );
  }

  /** Returns all machines, as read recently. */
  machines(): Promise<PlacementMachine[]> {
    return this.#read(MOMENT_MS);
  }

  #read(freshMs: number): Promise<PlacementMachine[]> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#machines && nowMs - this.#readAtMs < freshMs) return this.#machines;
    const machines = this.#stores.machines.view();
    this.#machines = machines;
    this.#readAtMs = nowMs;
    machines.catch(() => {
      if (this.#machines === machines) this.#machines = undefined;
    });
    return machines;
  }
}
