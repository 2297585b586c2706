/** An endpoint at a glance, from core's record of it and its counts. */
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import { EndpointType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { GetHealthResponse } from '../../../proto/gen/slipway/v1/job_service.ts';
import type { EndpointRow, Problem, Sample } from '../views.ts';

const NO_WORKERS = { idle: 0, running: 0, initializing: 0, ready: 0, throttled: 0, unhealthy: 0, standby: 0 };

/** The row. */
export function endpointRow(endpoint: Endpoint, { jobs, workers }: GetHealthResponse): EndpointRow {
  const { idle, running, initializing, ready, throttled, unhealthy, standby } = workers ?? NO_WORKERS;
  return {
    id: endpoint.id, name: endpoint.name, type: endpoint.type === EndpointType.LB ? 'LB' : 'QB',
    workersMin: endpoint.workersMin, workersMax: endpoint.workersMax,
    queued: jobs?.inQueue ?? 0, inProgress: jobs?.inProgress ?? 0, completed: jobs?.completed ?? 0, failed: jobs?.failed ?? 0,
    workers: { idle, running, initializing, ready, throttled, unhealthy, standby },
  };
}

/** What core says is wrong with it. */
export function endpointProblems({ id, name }: EndpointRow, { workers }: GetHealthResponse): Problem[] {
  const about = { name, path: `/endpoints/${id}` };
  if (!workers) return [];
  const found: Problem[] = [];
  if (workers.cannotRunReason !== '') found.push({ ...about, level: 'bad', text: sentence(workers.cannotRunReason) });
  else if (workers.throttledReason !== '') found.push({ ...about, level: 'warn', text: sentence(workers.throttledReason) });
  if (workers.unhealthy > 0) {
    const who = workers.unhealthy === 1 ? 'One worker has' : `${workers.unhealthy} workers have`;
    found.push({ ...about, level: 'bad', text: `${who} crashed or could not start; others are started after a pause. The endpoint's page says why.` });
  }
  return found;
}

/** A reason that stands alone. */
function sentence(reason: string): string {
  return `${reason[0]!.toUpperCase()}${reason.slice(1)}.`.replace(/\.\.$/, '.');
}

/** Its place in the course of time. */
export function sampleOf({ queued, inProgress, workers }: EndpointRow, nowMs: number): Sample {
  return [nowMs, queued, inProgress, workers.idle + workers.running + workers.initializing];
}

/** Samples of many endpoints, the oldest of each thrown away. */
export class Past {
  static readonly LENGTH_MAX = 240;
  #samples = new Map<string, Sample[]>();

  /** Adds a moment; endpoints that are no more are forgotten. */
  add(rows: readonly EndpointRow[], nowMs: number): void {
    this.#samples = new Map(rows.map((row) => [row.id, [...this.#samples.get(row.id) ?? [], sampleOf(row, nowMs)].slice(-Past.LENGTH_MAX)]));
  }

  /** All of it. */
  view(): Record<string, readonly Sample[]> {
    return Object.fromEntries(this.#samples);
  }
}
