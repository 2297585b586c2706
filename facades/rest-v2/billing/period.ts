/** Which periods a question about billing means. */

import { UsageBucket } from '@slipway/proto/gen/slipway/v1/usage_service';
import type { Static } from 'typebox';
import { Type } from 'typebox';
import { against, misfit } from '../rejections.ts';
import { word } from '../schema-parts.ts';

const LAST_MAX = 10_000;
/** Default time span, in milliseconds. */
const DEFAULT_SPAN_MS = 30 * 86_400_000;
const SIZES = ['hour', 'day', 'week', 'month', 'year'] as const;
/** Length of a period. */
type BucketSize = (typeof SIZES)[number];

const BUCKETS: Readonly<Record<BucketSize, UsageBucket>> = {
  hour: UsageBucket.HOUR,
  day: UsageBucket.DAY,
  week: UsageBucket.WEEK,
  month: UsageBucket.MONTH,
  year: UsageBucket.YEAR,
};

/** Members of every query. */
export const PeriodQuery = Type.Object({
  startTime: Type.Optional(
    Type.String({ format: 'date-time', description: 'Beginning of the report. Default: 30 days ago.' }),
  ),
  endTime: Type.Optional(Type.String({ format: 'date-time', description: 'End of the report. Default: now.' })),
  bucketSize: Type.Optional(word(SIZES, 'Length of a period, in UTC. Default: day.')),
  lastN: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LAST_MAX,
      description: 'Number of periods up to now. Use it instead of startTime and endTime.',
    }),
  ),
});

/** Periods from a moment to another. */
export interface Period {
  startTime: Date;
  endTime: Date;
  bucketSize: BucketSize;
  bucket: UsageBucket;
}

/** Returns the periods that a query names. 400: times and lastN are both given. 422: a text is no moment. */
export function periodOf(
  { startTime, endTime, bucketSize = 'day', lastN }: Static<typeof PeriodQuery>,
  nowMs: number,
): Period {
  if (lastN !== undefined && (startTime ?? endTime) !== undefined)
    throw against('lastN takes the place of startTime and endTime: give one or the other.');
  const end = endTime === undefined ? new Date(nowMs) : timeOf('endTime', endTime);
  const beforeEndMs = (): number =>
    lastN === undefined
      ? end.getTime() - DEFAULT_SPAN_MS
      : stepped(beginOf(end, bucketSize), bucketSize, 1 - lastN).getTime();
  // No usage is older than 1970, and core takes no earlier time.
  const start = startTime === undefined ? new Date(Math.max(0, beforeEndMs())) : timeOf('startTime', startTime);
  return { startTime: start, endTime: end, bucketSize, bucket: BUCKETS[bucketSize] };
}

/** Returns when the period ends that begins then. */
export function endOf(begin: Date, size: BucketSize): Date {
  return stepped(begin, size, 1);
}

function beginOf(time: Date, size: BucketSize): Date {
  const begin = new Date(time);
  begin.setUTCMinutes(0, 0, 0);
  if (size === 'hour') return begin;
  begin.setUTCHours(0);
  // Weeks begin on Monday.
  if (size === 'week') begin.setUTCDate(begin.getUTCDate() - ((begin.getUTCDay() + 6) % 7));
  if (size === 'month' || size === 'year') begin.setUTCDate(1);
  if (size === 'year') begin.setUTCMonth(0);
  return begin;
}

function stepped(begin: Date, size: BucketSize, steps: number): Date {
  const moved = new Date(begin);
  if (size === 'hour') moved.setUTCHours(moved.getUTCHours() + steps);
  else if (size === 'day') moved.setUTCDate(moved.getUTCDate() + steps);
  else if (size === 'week') moved.setUTCDate(moved.getUTCDate() + 7 * steps);
  else if (size === 'month') moved.setUTCMonth(moved.getUTCMonth() + steps);
  else moved.setUTCFullYear(moved.getUTCFullYear() + steps);
  return moved;
}

/** Parses a time. The schema checks only its form: a leap second has a valid form but is no time of a computer. */
function timeOf(name: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw misfit([`query.${name}: is no moment like 2026-01-31T12:00:00Z`]);
  return time;
}
