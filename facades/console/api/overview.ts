/** What stands on the first page: an account's endpoints, or the operator's machines, and what is wrong with them. */
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { GetHealthResponse } from '../../../proto/gen/slipway/v1/job_service.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { OverviewView, Problem } from '../views.ts';
import type { PageAsked } from './list-query.ts';
import { Past, endpointProblems, endpointRow } from './endpoint-row.ts';
import { readMachines } from './machines.ts';

/** Calls at a time: looking on must not crowd out the account's own calls. */
const AT_ONCE = 6;

/** The feed of an account. */
export function accountOverview({ core, clock }: ConsoleParts, apiKey: string, page: PageAsked): FeedSource {
  const past = new Past();
  const read = async (signal: AbortSignal): Promise<OverviewView> => {
    const options = { apiKey, repeatable: true, signal };
    const { endpoints, nextPageToken } = await core.endpoints.call((client) => client.listEndpoints, page, options);
    const looked = await each(endpoints, (endpoint) => core.jobs.call((client) => client.getHealth, { endpointId: endpoint.id }, options));
    const nowMs = clock.nowMs();
    const rows = looked.map(([endpoint, health]) => endpointRow(endpoint, health));
    past.add(rows, nowMs);
    const problems = looked.flatMap(([, health], index) => endpointProblems(rows[index]!, health));
    return { nowMs, endpoints: rows, next: nextPageToken, problems };
  };
  return { read, past: () => past.view() };
}

/** The feed of the operator. */
export function operatorOverview({ core, clock }: ConsoleParts, apiKey: string, page: PageAsked): FeedSource {
  const read = async (signal: AbortSignal): Promise<OverviewView> => {
    const { machines, next } = await readMachines(core, page, { apiKey, repeatable: true, signal });
    const problems = machines.flatMap(({ name, connected, cordoned, gpus }): Problem[] => {
      const about = { name, path: '/machines' };
      const ill = gpus.filter(({ unhealthy }) => unhealthy !== '');
      return [
        ...(connected ? [] : [{ ...about, level: 'bad' as const, text: 'Its agent is away: what ran there has been put back or counts as lost.' }]),
        ...ill.map((gpu) => ({ ...about, level: 'bad' as const, text: `GPU ${gpu.name}: ${gpu.unhealthy}` })),
        ...(cordoned ? [{ ...about, level: 'warn' as const, text: 'It is cordoned: nothing new is placed on it.' }] : []),
      ];
    });
    return { nowMs: clock.nowMs(), endpoints: [], next, problems, machines };
  };
  return { read };
}

/** Asks for each, some at a time. One that is gone meanwhile is left out. */
async function each(endpoints: readonly Endpoint[], ask: (endpoint: Endpoint) => Promise<GetHealthResponse>): Promise<[Endpoint, GetHealthResponse][]> {
  const answers: ([Endpoint, GetHealthResponse] | undefined)[] = endpoints.map(() => undefined);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < endpoints.length; at = next++) {
      const endpoint = endpoints[at]!;
      const answer = await ask(endpoint).catch((error: { httpStatus?: number }) => {
        if (error.httpStatus !== 404) throw error;
        return undefined;
      });
      if (answer) answers[at] = [endpoint, answer];
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, endpoints.length) }, lane));
  return answers.filter((answer) => answer !== undefined);
}
