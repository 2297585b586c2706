/** Summarizes an endpoint from core's record of it and its counts. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { GetHealthResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import type { EndpointRow } from '../views.ts';

const NO_WORKERS = { idle: 0, running: 0, initializing: 0, ready: 0, throttled: 0, unhealthy: 0, standby: 0 };

/** Returns the row of an endpoint. */
export function endpointRow(endpoint: Endpoint, { jobs, workers }: GetHealthResponse): EndpointRow {
  const { idle, running: told, initializing, ready, throttled, unhealthy, standby } = workers ?? NO_WORKERS;
  const type = endpoint.type === EndpointType.LB ? 'LB' : 'QB';
  // For load-balancing endpoints core counts all started workers as running, so idle ones would count twice.
  const running = type === 'LB' ? Math.max(told - idle - initializing, 0) : told;
  return {
    id: endpoint.id,
    name: endpoint.name,
    type,
    workersMin: endpoint.workersMin,
    workersMax: endpoint.workersMax,
    queued: jobs?.inQueue ?? 0,
    inProgress: jobs?.inProgress ?? 0,
    completed: jobs?.completed ?? 0,
    failed: jobs?.failed ?? 0,
    workers: { idle, running, initializing, ready, throttled, unhealthy, standby },
  };
}
