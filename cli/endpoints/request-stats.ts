/** Shows the requests of a load-balancing endpoint in `slipway times` and `slipway errors`. */
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type {
  FailedRequest,
  GetRequestStatsResponse,
  RequestStats,
} from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { checkSince } from '../option-values.ts';
import type { Column } from '../output/table.ts';
import { ago, measured } from '../output/words.ts';

/** Returns whether it is a load-balancing endpoint. False for a key that may not read endpoints. */
export async function isLoadBalancing({ core }: Cli, id: string): Promise<boolean> {
  try {
    return (await core.endpoints.call((client) => client.getEndpoint, { id })).endpoint!.type === EndpointType.LB;
  } catch (error) {
    if (error instanceof CoreError && error.reason === 'UNAUTHORIZED') return false;
    throw error;
  }
}

/** Shows how many requests ended, and how long they took, by steps of time and in all. `spanMs`: 0 for an hour. */
export async function showRequestTimes(cli: Cli, endpointId: string, spanMs: number): Promise<void> {
  const { total, steps, stepMs, workers } = await statsOf(cli, endpointId, spanMs);
  const { output } = cli;
  output.result({ total: total ?? null, steps, stepMs, workers }, () =>
    output.table<RequestStats>(
      [{ title: 'FROM', text: startText }, ...columnsOf()],
      total && total.requests > 0 ? [...steps, total] : [],
      'No request ended in this time.',
    ),
  );
}

/** Shows the last requests that failed, of which core keeps a sample. `spanMs`: 0 for an hour. */
export async function showFailedRequests(cli: Cli, endpointId: string, spanMs: number): Promise<void> {
  const { failed, total } = await statsOf(cli, endpointId, spanMs);
  const { output } = cli;
  const errors = (total?.serverErrors ?? 0) + (total?.broken ?? 0);
  output.result({ requests: total?.requests ?? 0, errors, failed }, () => {
    output.table<FailedRequest>(
      [
        { title: 'WHEN', text: ({ time }) => ago(time, output.nowMs()) },
        { title: 'STATUS', text: ({ status }) => (status === 0 ? 'broken off' : String(status)) },
        { title: 'CAUSE', text: ({ cause }) => cause },
        { title: 'TOOK', right: true, text: ({ durationMs }) => measured(durationMs)! },
        { title: 'WORKER', text: ({ workerId }) => workerId },
        { title: 'REQUEST', text: ({ method, path, hasQuery }) => `${method} ${path}${hasQuery ? '?…' : ''}` },
      ],
      failed,
      'No request failed in this time.',
    );
    if (errors > failed.length) output.note(`A sample of ${errors} failed requests.`);
  });
}

async function statsOf({ core }: Cli, endpointId: string, spanMs: number): Promise<GetRequestStatsResponse> {
  checkSince(spanMs, '12h', 'a load-balancing endpoint');
  return core.endpoints.call((client) => client.getRequestStats, { endpointId, spanMs });
}

/** Returns the start of a step; `all` for the sum over the whole span. */
function startText({ startTime }: RequestStats): string {
  return startTime ? `${startTime.toISOString().slice(0, 19)}Z` : 'all';
}

function columnsOf(): Column<RequestStats>[] {
  const whole = (title: string, of: (row: RequestStats) => number) => ({
    title,
    right: true,
    text: (row: RequestStats) => String(of(row)),
  });
  const times = (['p50Ms', 'p95Ms', 'p99Ms'] as const).map((name) => ({
    title: name.slice(0, 3).toUpperCase(),
    right: true,
    text: ({ duration }: RequestStats) => measured(duration?.[name]) ?? '',
  }));
  return [
    whole('REQUESTS', ({ requests }) => requests),
    whole('4XX', ({ clientErrors }) => clientErrors),
    whole('ERRORS', ({ serverErrors, broken }) => serverErrors + broken),
    whole('LEFT', ({ abandoned }) => abandoned),
    ...times,
  ];
}
