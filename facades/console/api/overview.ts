/**
 * Feeds the first page: an account's endpoints, or the operator's machines. Includes all problems, also those of rows
 * that are not shown.
 */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { CoreError } from '@slipway/proto/wire/reason';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { EndpointRow, OverviewView } from '../views.ts';
import { PAST_MS } from '../views.ts';
import { CounterHistory } from './counter-history.ts';
import { endpointRow } from './endpoint-row.ts';
import { inLanes } from './in-lanes.ts';
import type { PageQuery } from './list-query.ts';
import { readMachines } from './machines.ts';
import { readProblems, readProblemsOfAll } from './problems.ts';

/** Returns the feed of an account. */
export function accountOverview({ core, clock }: ConsoleParts, apiKey: string, page: PageQuery): FeedSource {
  const past = new CounterHistory(PAST_MS);
  const read = async (signal: AbortSignal): Promise<OverviewView> => {
    const options = { apiKey, repeatable: true, signal };
    const wrong = await readProblems(core, '', options);
    const { endpoints, nextPageToken } = await core.endpoints.call((client) => client.listEndpoints, page, options);
    /** Returns the row of an endpoint. Empty if the endpoint was deleted. */
    const row = async (endpoint: Endpoint): Promise<EndpointRow[]> => {
      try {
        return [
          endpointRow(
            endpoint,
            await core.jobs.call((client) => client.getHealth, { endpointId: endpoint.id }, options),
          ),
        ];
      } catch (error) {
        if (error instanceof CoreError && error.httpStatus === 404) return [];
        throw error;
      }
    };
    const rows = (await inLanes(endpoints, row)).flat();
    const nowMs = clock.nowMs();
    await past.add(rows, nowMs, core, options);
    return { nowMs, endpoints: rows, next: nextPageToken, ...wrong };
  };
  return { read, past: () => past.view() };
}

/** Returns the feed of the operator. */
export function operatorOverview({ core, clock }: ConsoleParts, apiKey: string, page: PageQuery): FeedSource {
  const names = new Map<string, string>();
  const read = async (signal: AbortSignal): Promise<OverviewView> => {
    const options = { apiKey, repeatable: true, signal };
    const [{ machines, next }, wrong] = await Promise.all([
      readMachines(core, page, options),
      readProblemsOfAll(core, '', names, options),
    ]);
    return { nowMs: clock.nowMs(), endpoints: [], next, ...wrong, machines };
  };
  return { read };
}
