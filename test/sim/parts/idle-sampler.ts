/** Sees in calm for how long jobs wait while workers of their endpoint are idle. */
import type { HistoryEvent } from '../checker/history.ts';
import type { PlainConnection } from '../database/sim-server.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { Machine } from './sim-worker.ts';

interface IdleSamplerOptions {
  world: World;
  endpoints: readonly string[];
  machines: readonly Machine[];
  admin: PlainConnection;
  record(event: HistoryEvent): void;
  isCalm(): boolean;
}

/** Time between two samples, in milliseconds. */
const SAMPLE_MS = 1_000;

export class IdleSampler {
  readonly #options: IdleSamplerOptions;
  /** Since when a job of an endpoint has waited beside idle workers. */
  readonly #waitingSince = new Map<string, number>();

  constructor(options: IdleSamplerOptions) {
    this.#options = options;
  }

  /** Begins, and goes on for ever. */
  begin(): void {
    const { world, isCalm } = this.#options;
    world.perform(SAMPLE_MS, NATURE, async () => {
      if (isCalm()) await this.#sampleOnce();
      this.begin();
    });
  }

  async #sampleOnce(): Promise<void> {
    const { world, endpoints, machines, admin, record } = this.#options;
    for (const endpoint of endpoints) {
      const idle = machines.reduce((sum, machine) => sum + machine.idleWorkers(endpoint), 0);
      const [row] = idle === 0 ? [] : await admin.query(firstWaiting(endpoint));
      const job = row?.[0] ?? '';
      if (job === '') this.#waitingSince.delete(endpoint);
      else if (!this.#waitingSince.has(endpoint)) this.#waitingSince.set(endpoint, world.nowMs);
      else record({ is: 'waited', atMs: world.nowMs, job, ms: world.nowMs - this.#waitingSince.get(endpoint)! });
    }
  }
}

function firstWaiting(endpoint: string): string {
  return `SELECT id FROM job WHERE endpoint_id = '${endpoint}' AND state = 'IN_QUEUE' AND NOT low_priority
    ORDER BY position LIMIT 1`;
}
