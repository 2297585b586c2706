/** EdgeService.ReportRequests: a facade reports requests to load-balancing endpoints that ended there. */

import { shortText } from '@slipway/kit/bytes/short-text';
import type { RequestCounts } from '@slipway/kit/observe/request-counts';
import {
  DURATION_BINS_MAX,
  FAILED_PATH_LENGTH_MAX,
  FAILED_REPORTED_MAX,
  REQUEST_OUTCOMES,
} from '@slipway/kit/observe/request-counts';
import type { EndedRequests, WorkerRequests } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { FailedRequest as FailedMessage } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { REJECTIONS_PER_CALL_MAX } from '@slipway/proto/wire/limits';
import type { Access } from '../../access/access.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RequestMeter } from '../../edge/request-meter.ts';
import type { FailedRequest } from '../../store/scaling/request-store.ts';

/** Most workers of an entry that are read. */
const WORKERS_MAX = 1_000;
/** Largest accepted count of one outcome or bin, and largest sum of bytes or milliseconds. */
const COUNT_MAX = 20_000;
const SUM_MAX = 1_000_000_000_000_000;
const WORD_LENGTH_MAX = 64;
const ID = /^[a-z0-9]{0,64}$/;

/**
 * Records ended requests. `isOurs`: the caller is a part of this installation, whose entries need no key. Entries whose
 * key is not permitted are ignored. Throws INVALID_REQUEST if there are too many entries. If no entry is permitted,
 * throws the error of the last one.
 */
export async function recordRequests(
  access: Access,
  meter: RequestMeter,
  endpoints: readonly EndedRequests[],
  isOurs: boolean,
): Promise<void> {
  if (endpoints.length > REJECTIONS_PER_CALL_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `endpoints has ${endpoints.length} entries, but must have at most ${REJECTIONS_PER_CALL_MAX}`,
    );
  }
  const results = await Promise.allSettled(
    endpoints.map(async ({ endpointId, apiKey, workers, failed }) => {
      await checkReporter(access, endpointId, apiKey, isOurs);
      for (const each of workers.slice(0, WORKERS_MAX))
        if (ID.test(each.workerId)) meter.add(endpointId, each.workerId, countsFromMessage(each));
      for (const each of failed.slice(0, FAILED_REPORTED_MAX)) meter.fail(endpointId, failedFromMessage(each));
    }),
  );
  const last = results.at(-1);
  if (last?.status === 'rejected' && results.every(({ status }) => status === 'rejected')) throw last.reason;
}

/** Rejects if the caller may not report requests to the endpoint. */
async function checkReporter(access: Access, endpointId: string, apiKey: string, isOurs: boolean): Promise<void> {
  if (apiKey === '' && isOurs && /^[a-z0-9]{14}$/.test(endpointId)) return;
  const { endpoint } = await access.check(apiKey, { api: 'JOBS', endpointId });
  if (endpoint.type !== 'LB') throw new DomainError('WRONG_ENDPOINT_TYPE', 'The endpoint has jobs, not requests.');
}

function countsFromMessage({ outcomes, bytesIn, bytesOut, durationMs, durations }: WorkerRequests): RequestCounts {
  const count = (value: number | undefined): number => Math.min(Math.max(value ?? 0, 0), COUNT_MAX);
  const sum = (value: number): number => Math.min(Math.max(value, 0), SUM_MAX);
  return {
    outcomes: REQUEST_OUTCOMES.map((_, place) => count(outcomes[place])),
    bytesIn: sum(bytesIn),
    bytesOut: sum(bytesOut),
    durationMs: sum(durationMs),
    durations: durations.slice(0, DURATION_BINS_MAX).map(count),
  };
}

/** Converts a failed request. The meter brings its values into the ranges of the database. */
function failedFromMessage({
  time,
  method,
  path,
  hasQuery,
  status,
  durationMs,
  workerId,
  cause,
}: FailedMessage): FailedRequest {
  return {
    atMs: time?.getTime() ?? 0,
    method: shortText(method, WORD_LENGTH_MAX),
    path: shortText(path.split('?', 1)[0]!, FAILED_PATH_LENGTH_MAX),
    hasQuery,
    status,
    durationMs,
    workerId: ID.test(workerId) ? workerId : '',
    cause: shortText(cause, WORD_LENGTH_MAX),
  };
}
