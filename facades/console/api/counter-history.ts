/** The last minutes of endpoints: the samples of a feed, and for the time before it those of the scaler's decisions. */
import { CoreError } from '@slipway/proto/wire/reason';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import type { EndpointRow, Sample } from '../views.ts';
import { PAST_MS, withSample } from '../views.ts';
import { inLanes } from './in-lanes.ts';

/** Most recent decisions that are read: those of some minutes. */
const DECISIONS_MAX = 100;

export class CounterHistory {
  #samples = new Map<string, readonly Sample[]>();

  /**
   * Adds a sample. Endpoints that no longer exist are dropped. The history before the feed is read from core once per
   * endpoint.
   */
  async add(rows: readonly EndpointRow[], nowMs: number, core: CoreClient, options: CallOptions): Promise<void> {
    const fresh = rows.filter(({ id }) => !this.#samples.has(id));
    const before = new Map(
      await inLanes(fresh, async ({ id }) => [id, await decided(core, id, nowMs, options)] as const),
    );
    this.#samples = new Map(
      rows.map((row) => [
        row.id,
        withSample(this.#samples.get(row.id) ?? before.get(row.id) ?? [], sampleOf(row, nowMs)),
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

/**
 * Returns the samples of the decisions of the last minutes, and the last one before, because it shows the state at the
 * start.
 */
async function decided(
  core: CoreClient,
  endpointId: string,
  nowMs: number,
  options: CallOptions,
): Promise<readonly Sample[]> {
  const asked = { endpointId, pageSize: DECISIONS_MAX, beforeId: 0 };
  const { decisions } = await core.endpoints
    .call((client) => client.listDecisions, asked, options)
    .catch((error: unknown) => {
      // A key may not see them, or the endpoint has just gone.
      if (error instanceof CoreError && [401, 404].includes(error.httpStatus)) return { decisions: [] };
      throw error;
    });
  const seen = decisions
    .map(({ decideTime, queued, running, present }): Sample => [decideTime?.getTime() ?? 0, queued, running, present])
    .reverse();
  const first = seen.findLastIndex(([atMs]) => atMs <= nowMs - PAST_MS);
  return seen.slice(Math.max(first, 0)).reduce<readonly Sample[]>(withSample, []);
}
