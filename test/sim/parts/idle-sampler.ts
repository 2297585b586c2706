/** Sees in calm for how long jobs wait while workers of their endpoint are idle. */
import type { HistoryEvent } from '../checker/history.ts';
import type { PlainConnection } from '../database/sim-server.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { Machine } from './sim-worker.ts';
import { nameOf } from './sim-worker.ts';

interface IdleSamplerOptions {
  world: World;
  endpoints: readonly string[];
  machines: readonly Machine[];
  admin: PlainConnection;
  record(event: HistoryEvent): void;
  /** The endpoint that gets all of its jobs after the faults. */
  burst: string;
  isCalm(): boolean;
}

/** Time between two samples, in milliseconds. */
const SAMPLE_MS = 1_000;

export class IdleSampler {
  readonly #options: IdleSamplerOptions;
  /** Since when a job has waited beside idle workers, by what it waits for: a claim, or its begin after one. */
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
    const { world, machines, record } = this.#options;
    const idle = this.#options.endpoints.filter((id) => machines.some((machine) => machine.idleWorkers(id) > 0));
    const waiting = new Map<string, string>();
    for (const endpoint of idle) for (const [name, job] of await this.#waitingAt(endpoint)) waiting.set(name, job);
    for (const name of this.#waitingSince.keys()) if (!waiting.has(name)) this.#waitingSince.delete(name);
    for (const [name, job] of waiting) {
      const sinceMs = this.#waitingSince.get(name);
      if (sinceMs === undefined) this.#waitingSince.set(name, world.nowMs);
      else record({ is: 'waited', atMs: world.nowMs, job, ms: world.nowMs - sinceMs });
    }
  }

  /** Returns the first job in the queue, and claimed ones whose handler has not begun. */
  async #waitingAt(endpoint: string): Promise<[string, string][]> {
    const { machines, admin, burst } = this.#options;
    const rows = await admin.query(
      `(SELECT id, attempt, state FROM job WHERE endpoint_id = '${endpoint}' AND state = 'IN_QUEUE' AND NOT low_priority
         ORDER BY position LIMIT 1)
       UNION ALL SELECT id, attempt, state FROM job WHERE endpoint_id = '${burst}' AND endpoint_id = '${endpoint}'
         AND state = 'IN_PROGRESS' ORDER BY id`,
    );
    const running = new Set(machines.flatMap((machine) => machine.running.map((ref) => nameOf(ref))));
    return rows.flatMap(([id = '', attempt, state]): [string, string][] => {
      if (state === 'IN_QUEUE') return [[endpoint, id]];
      const name = nameOf({ jobId: id, attempt: Number(attempt) });
      return running.has(name) ? [] : [[name, id]];
    });
  }
}
