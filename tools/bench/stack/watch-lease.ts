/** Measures how late heartbeats reach the database, by the remaining time of the machine's lease. */
import { HEARTBEAT_PERIOD_MS, LEASE_MS } from '@slipway/core/domain/machines/lease';
import type { Stack } from './stack.ts';

const LOOK_MS = 50;

/** Starts to watch. `worst` ends the watch and returns how late the latest heartbeat was, in milliseconds. */
export function watchLease(stack: Pick<Stack, 'sql'>): { worst(): Promise<number> } {
  let leastMs = Infinity;
  let stopped = false;
  const loop = (async () => {
    while (!stopped) {
      const [row] = await stack.sql<
        { ms: number }[]
      >`SELECT extract(epoch FROM min(lease_expires_at) - clock_timestamp())::float8 * 1000 AS ms FROM machine`;
      leastMs = Math.min(leastMs, row!.ms);
      await new Promise((resolve) => {
        setTimeout(resolve, LOOK_MS);
      });
    }
  })();
  return {
    worst: async () => {
      stopped = true;
      await loop;
      return LEASE_MS - HEARTBEAT_PERIOD_MS - leastMs;
    },
  };
}
