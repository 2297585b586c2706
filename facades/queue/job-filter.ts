/** Reads which jobs a query is about: `status`, `submittedFrom`, `submittedUntil`, and the `cursor` of an answer before (docs/api.md#list-of-jobs). */
import { JobState } from '../../proto/gen/slipway/v1/job.ts';
import { CoreError } from '../../proto/wire/reason.ts';

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

/** When they were submitted; core refuses what is out of range, in the contract's words. */
interface Submitted {
  submittedFrom: Date | undefined;
  submittedUntil: Date | undefined;
}

/** Their times. */
export function submittedOf(query: unknown, nowMs: number): Submitted {
  const [from, until] = [timeOf(query, 'submittedFrom', nowMs), timeOf(query, 'submittedUntil', nowMs)];
  if (from && until && until <= from) throw new CoreError('INVALID_REQUEST', '"submittedUntil" must be after "submittedFrom".');
  return { submittedFrom: from, submittedUntil: until };
}

/** Their state, in whatever case; UNSPECIFIED: none is asked for. */
export function stateOf(word: unknown): JobState {
  if (word === undefined || word === '') return JobState.UNSPECIFIED;
  const state = typeof word === 'string' ? STATES.get(word.toUpperCase()) : undefined;
  if (state === undefined) throw new CoreError('INVALID_REQUEST', `"status" must be one of ${[...STATES.keys()].join(', ')}.`);
  return state;
}

/** The word for a state; undefined: it is UNSPECIFIED. */
export function stateName(state: JobState): string | undefined {
  return [...STATES].find(([, known]) => known === state)?.[0];
}

/** Where to go on; empty: at the beginning. */
export function cursorOf(query: unknown): string {
  const { cursor = '' } = query as Record<string, unknown>;
  if (typeof cursor !== 'string') throw new CoreError('INVALID_REQUEST', '"cursor" must be given once.');
  return cursor;
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
