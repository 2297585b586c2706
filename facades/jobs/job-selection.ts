/** Reads filters and order of job lists from query strings. */
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { ListJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { JobSpan } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { queryTime } from './query-time.ts';

const STATES = new Map<string, JobState>([
  ['IN_QUEUE', JobState.IN_QUEUE],
  ['IN_PROGRESS', JobState.IN_PROGRESS],
  ['COMPLETED', JobState.COMPLETED],
  ['FAILED', JobState.FAILED],
  ['CANCELLED', JobState.CANCELLED],
  ['TIMED_OUT', JobState.TIMED_OUT],
]);

interface Order {
  oldestFirst: boolean;
  longest: JobSpan;
}

const ORDERS = new Map<string, Order>([
  ['newest', { oldestFirst: false, longest: JobSpan.UNSPECIFIED }],
  ['oldest', { oldestFirst: true, longest: JobSpan.UNSPECIFIED }],
  ['longest-delay', { oldestFirst: false, longest: JobSpan.DELAY }],
  ['longest-execution', { oldestFirst: false, longest: JobSpan.EXECUTION }],
]);

/**
 * Reads which jobs are selected, without how many. Query: `status` (one of the six), `order` (one of ORDERS, default
 * `newest`), `cursor` (`nextCursor` of the page before), `submittedFrom` and `submittedUntil` (ISO 8601, or before
 * now). Throws INVALID_REQUEST.
 */
export function jobSelection(query: unknown, nowMs: number): Omit<ListJobsRequest, 'endpointId' | 'offset' | 'limit'> {
  return {
    state: stateOf((query as Record<string, unknown>)['status']),
    pageToken: cursorOf(query),
    ...orderOf(query),
    ...submittedOf(query, nowMs),
  };
}

/** Returns the cursor of the next page. Empty for the first page. */
export function cursorOf(query: unknown): string {
  const { cursor = '' } = query as Record<string, unknown>;
  if (typeof cursor !== 'string') throw new CoreError('INVALID_REQUEST', '"cursor" must be given once.');
  return cursor;
}

function orderOf(query: unknown): Order {
  const { order = '' } = query as Record<string, unknown>;
  const known = ORDERS.get(order === '' ? 'newest' : String(order));
  if (!known) throw new CoreError('INVALID_REQUEST', `"order" must be one of ${[...ORDERS.keys()].join(', ')}.`);
  return known;
}

/** Range of submission times. Core rejects values out of range. */
interface Submitted {
  submittedFrom: Date | undefined;
  submittedUntil: Date | undefined;
}

/** Reads the period of submission from the query. */
export function submittedOf(query: unknown, nowMs: number): Submitted {
  const [from, until] = [queryTime(query, 'submittedFrom', nowMs), queryTime(query, 'submittedUntil', nowMs)];
  if (from && until && until <= from)
    throw new CoreError('INVALID_REQUEST', '"submittedUntil" must be after "submittedFrom".');
  return { submittedFrom: from, submittedUntil: until };
}

/** Returns the state to filter by, in any case. UNSPECIFIED if none is given. */
export function stateOf(word: unknown): JobState {
  if (word === undefined || word === '') return JobState.UNSPECIFIED;
  const state = typeof word === 'string' ? STATES.get(word.toUpperCase()) : undefined;
  if (state === undefined)
    throw new CoreError('INVALID_REQUEST', `"status" must be one of ${[...STATES.keys()].join(', ')}.`);
  return state;
}

/** Returns the name of a state. `undefined` if it is UNSPECIFIED. */
export function stateName(state: JobState): string | undefined {
  return [...STATES].find(([, known]) => known === state)?.[0];
}
