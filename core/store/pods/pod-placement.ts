/** Places pods. Where no GPU is free, idle workers of FlashBoot endpoints go to host memory for them. */

import type { PlacementSlot } from '../../domain/scaling/placement.ts';
import type { PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import type { MovableWorker } from '../../domain/scaling/standby-restore.ts';
import { asMovable, idleMovableWorkers, withMovable } from '../../domain/scaling/standby-restore.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import { readMovable } from '../scaling/offload-samples.ts';
import { sampleEndpoints } from '../scaling/scale-samples.ts';
import type { Sql } from '../sql/database.ts';

/** Most endpoints that are searched for idle workers, longest idle first. */
const ENDPOINTS_MAX = 100;

/** Sources of idle workers. All on the hot pool: the caller's transaction waits with a connection of the other one. */
interface IdleSources {
  hot: Sql;
  running: RunningJobs;
}

/**
 * Returns the slot that `choose` returns for these machines. If it finds no capacity, it is asked again as if idle
 * workers were on standby. The caller holds the placement lock, so that none of them is moved. One that gets
 * a job finishes it first. Throws what `choose` throws.
 */
export async function placeWithIdle(
  sources: IdleSources,
  machines: readonly PlacementMachine[],
  choose: (machines: readonly PlacementMachine[]) => PlacementSlot,
): Promise<PlacementSlot> {
  try {
    return choose(machines);
  } catch (error) {
    if (!(error instanceof DomainError && error.reason === 'NO_CAPACITY')) throw error;
    const idle = await readIdle(sources);
    if (idle.length === 0) throw error;
    try {
      return choose(withMovable(machines, idle).map(asMovable));
    } catch {
      throw error;
    }
  }
}

async function readIdle({ hot, running }: IdleSources): Promise<MovableWorker[]> {
  const rows = await hot<{ id: string }[]>`
    SELECT w.endpoint_id AS id FROM worker w JOIN endpoint e ON e.id = w.endpoint_id
      JOIN machine m ON m.id = w.machine_id
    WHERE w.ended_at IS NULL AND w.machine_id <> '' AND w.desired = 'RUN' AND w.state = 'READY' AND w.gpu_uuids <> '{}'
      AND (m.gpu_offload ->> 'supported')::boolean
      AND e.type = 'QB' AND e.flash_boot_type = 'FLASHBOOT' AND e.flash_boot_standby <> 'GPU'
    GROUP BY w.endpoint_id ORDER BY min(w.busy_at), w.endpoint_id LIMIT ${ENDPOINTS_MAX}`;
  const samples = await sampleEndpoints(
    { sql: hot, hot, running },
    rows.map(({ id }) => id),
  );
  const idle = samples.flatMap(({ sample }) => idleMovableWorkers(sample.demand, sample.settings));
  return readMovable(
    hot,
    idle.map(({ id }) => id),
  );
}
