/** The last minutes of endpoints: samples of a feed, and core's samples for the time before. */
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { EndpointRow, Sample } from '../views.ts';
import { withSample } from '../views.ts';
import { inLanes } from './in-lanes.ts';
import { minutesOf, optionsOf } from './list-query.ts';

export class CounterHistory {
  readonly #pastMs: number;
  #samples = new Map<string, readonly Sample[]>();

  /** `pastMs`: length of the history in milliseconds. */
  constructor(pastMs: number) {
    this.#pastMs = pastMs;
  }

  /**
   * Adds a sample. Endpoints that no longer exist are dropped. The history before the feed is read from core once per
   * endpoint.
   */
  async add(rows: readonly EndpointRow[], nowMs: number, core: CoreClient, options: CallOptions): Promise<void> {
    const fresh = rows.filter(({ id }) => !this.#samples.has(id));
    const before = new Map(
      await inLanes(fresh, async ({ id }) => [id, await readHistory(core, id, this.#pastMs, options)] as const),
    );
    this.#samples = new Map(
      rows.map((row) => [
        row.id,
        withSample(this.#samples.get(row.id) ?? before.get(row.id) ?? [], sampleOf(row, nowMs), this.#pastMs),
      ]),
    );
  }

  /** Returns all samples. */
  view(): Record<string, readonly Sample[]> {
    return Object.fromEntries(this.#samples);
  }
}

/** Returns the sample of an endpoint at a time. */
function sampleOf({ queued, inProgress, workers }: EndpointRow, nowMs: number): Sample {
  return [nowMs, queued, inProgress, workers.idle + workers.running + workers.initializing];
}

/** Returns the samples that core took in the last `spanMs` milliseconds. */
async function readHistory(
  core: CoreClient,
  endpointId: string,
  spanMs: number,
  options: CallOptions,
): Promise<readonly Sample[]> {
  const { samples } = await core.endpoints
    .call((client) => client.getLoadHistory, { endpointId, spanMs }, options)
    .catch((error: unknown) => {
      // A key may not see them, or the endpoint has just gone.
      if (error instanceof CoreError && [401, 404].includes(error.httpStatus)) return { samples: [] };
      throw error;
    });
  return samples.map(({ time, unknown, queued, running, workers }) => {
    const atMs = time?.getTime() ?? 0;
    return unknown ? [atMs, null, null, null] : [atMs, queued, running, workers];
  });
}

/** Adds the route of the history for the chart of scaling. Query: `minutes`, how far back. */
export function loadHistoryRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/history', { onRequest }, async (request): Promise<readonly Sample[]> => {
    const id = endpointIdInPath(request);
    return readHistory(core, id, minutesOf(request) * 60_000, optionsOf(request));
  });
}
