/** Jobs and workers of an endpoint, counted. */

import type { PlacementRefusal } from '../../domain/scaling/placement-refusal.ts';

/** Jobs and workers of an endpoint (docs/reference/api.md#health). */
export interface EndpointHealth {
  jobs: { completed: number; failed: number; inProgress: number; inQueue: number; retried: number };
  workers: {
    idle: number;
    running: number;
    initializing: number;
    ready: number;
    throttled: number;
    unhealthy: number;
    standby: number;
  };
  /** Why throttled workers cannot be placed; absent if none is throttled or none was evaluated yet. */
  refusal?: PlacementRefusal;
  /** Why no machine could ever run a worker of this endpoint; absent if one could. */
  cannotRun?: PlacementRefusal;
}
