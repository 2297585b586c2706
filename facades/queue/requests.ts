/** GET /requests: lists jobs, newest, oldest or longest first, without output. The shape is ours, because none is published (docs/api.md#list-of-jobs). */
import { JobState } from '../../proto/gen/slipway/v1/job.ts';
import { JobSpan } from '../../proto/gen/slipway/v1/job_service.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { jobBytes } from '../jobs/job-bytes.ts';
import { presentListedJob } from './present-job.ts';
import { boundedNumber } from './query-numbers.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';

/** About the bytes of a record without output and error. */
const RECORD_BYTES = 256;

const STATES = new Map<string, JobState>([
  ['IN_QUEUE', JobState.IN_QUEUE],
  ['IN_PROGRESS', JobState.IN_PROGRESS],
  ['COMPLETED', JobState.COMPLETED],
  ['FAILED', JobState.FAILED],
  ['CANCELLED', JobState.CANCELLED],
  ['TIMED_OUT', JobState.TIMED_OUT],
]);

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;
const BEFORE_NOW = /^now-(\d{1,9})([smhd])$/;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

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
 * The route. Query: `offset` (0 …), `limit` (1 to 1,000, default 100), `status` (one of the six), `order` (one of ORDERS, default `newest`), `cursor`
 * (`nextCursor` of the page before), `submittedFrom` and `submittedUntil` (ISO 8601, or before now).
 */
export function requests({ jobs, answers, clock }: JobParts): JobHandler {
  return async (request, reply) => {
    const offset = boundedNumber(request.query, 'offset', 0, { min: 0, max: 2 ** 31 - 1 });
    const limit = boundedNumber(request.query, 'limit', 100, { min: 1, max: 1_000 });
    const state = stateOf((request.query as Record<string, unknown>)['status']);
    const pageToken = cursorOf(request.query);
    const time = (name: string): Date | undefined => timeOf(request.query, name, clock.nowMs());
    const times = inOrder({ submittedFrom: time('submittedFrom'), submittedUntil: time('submittedUntil') });
    const selection = { endpointId: endpointIdOf(request), state, offset, limit, pageToken, ...orderOf(request.query), ...times };
    const { answer: page } = await answers.hold(request, reply, {
      read: () => jobs.list(request.caller.apiKey, selection),
      bytesOf: (found) => found.jobs.reduce((bytes, job) => bytes + RECORD_BYTES + jobBytes(job), 0),
    });
    const hasMore = page.nextPageToken !== '';
    const more = `${page.totalCapped ? ',"totalCapped":true' : ''}${hasMore ? `,"nextCursor":${JSON.stringify(page.nextPageToken)}` : ''}`;
    const items = page.jobs.map(presentListedJob).join(',');
    return sendJson(reply, `{"requests":[${items}],"total":${page.total},"offset":${offset},"limit":${limit},"hasMore":${hasMore}${more}}`);
  };
}

function cursorOf(query: unknown): string {
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

interface Times {
  submittedFrom: Date | undefined;
  submittedUntil: Date | undefined;
}

/** Core refuses the same, in the contract's words. */
function inOrder(times: Times): Times {
  const { submittedFrom: from, submittedUntil: until } = times;
  if (from && until && until <= from) throw new CoreError('INVALID_REQUEST', '"submittedUntil" must be after "submittedFrom".');
  return times;
}

/** A time with its zone, without which it would be another one at each place; or one before now, as `now-1h`, so that a link goes on to mean that. */
function timeOf(query: unknown, name: string, nowMs: number): Date | undefined {
  const { [name]: text = '' } = query as Record<string, unknown>;
  if (text === '') return undefined;
  const [, digits, unit] = (typeof text === 'string' && BEFORE_NOW.exec(text)) || [];
  const ms = digits !== undefined ? nowMs - Number(digits) * UNITS_MS[unit!]! : typeof text === 'string' && TIME.test(text) ? Date.parse(text) : Number.NaN;
  const time = new Date(ms);
  if (!Number.isNaN(time.getTime())) return time;
  const known = 'one ISO 8601 time with its zone, as 2026-01-31T12:00:00Z, or one before now, as now-90s, now-1h or now-7d';
  throw new CoreError('INVALID_REQUEST', `"${name}" must be ${known}.`);
}

function stateOf(word: unknown): JobState {
  if (word === undefined || word === '') return JobState.UNSPECIFIED;
  const state = typeof word === 'string' ? STATES.get(word.toUpperCase()) : undefined;
  if (state === undefined) throw new CoreError('INVALID_REQUEST', `"status" must be one of ${[...STATES.keys()].join(', ')}.`);
  return state;
}
