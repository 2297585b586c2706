/** The workers of the load-balancing endpoint, as the database has them, read every half second. */
import type { PlainConnection } from '../database/sim-server.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';

/** The load-balancing endpoint. */
export const LB_ENDPOINT = 'endpoint000004';

const SAMPLE_MS = 500;

/** As in core/store/machines/edge-store.ts. */
const READY = `desired = 'RUN' AND state = 'READY' AND health = 'READY' AND address <> ''`;

export class BackendTruth {
  readonly #world: World;
  readonly #admin: PlainConnection;
  readonly #onSample: () => void;
  /** Ids of the workers that take requests. */
  ready: readonly string[] = [];
  /** Since when a worker that was ready is not, in virtual milliseconds. */
  readonly #goneSinceMs = new Map<string, number>();

  /** `onSample` is called after each read. */
  constructor(world: World, admin: PlainConnection, onSample: () => void) {
    this.#world = world;
    this.#admin = admin;
    this.#onSample = onSample;
  }

  /** Ids of all workers that have been ready. */
  get known(): readonly string[] {
    return [...this.#goneSinceMs.keys(), ...this.ready];
  }

  /** Begins, and goes on for ever. */
  begin(): void {
    this.#world.perform(SAMPLE_MS, NATURE, async () => {
      await this.read();
      this.#onSample();
      this.begin();
    });
  }

  /** Reads it once. */
  async read(): Promise<void> {
    const rows = await this.#admin.query(
      `SELECT id FROM worker WHERE endpoint_id = '${LB_ENDPOINT}' AND ended_at IS NULL AND ${READY} ORDER BY id`,
    );
    const ready = rows.map(([id = '']) => id);
    for (const id of this.ready) if (!ready.includes(id)) this.#goneSinceMs.set(id, this.#world.nowMs);
    for (const id of ready) this.#goneSinceMs.delete(id);
    this.ready = ready;
  }

  /** Returns for how many milliseconds a worker has not been ready. 0: it is, or never was. */
  goneForMs(workerId: string): number {
    return this.#world.nowMs - (this.#goneSinceMs.get(workerId) ?? this.#world.nowMs);
  }
}
