/** Reads `since` of query strings: a duration before now, such as 90s, 30m or 12h. Core rejects values out of range. */
import { CoreError } from '@slipway/proto/wire/reason';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Bounds of a duration. */
interface SpanBounds {
  minMs: number;
  maxMs: number;
  /** Bounds and examples for people: `from 60s to 12h, as 90s, 30m or 12h`. */
  text: string;
  /** Accepted units, of s, m, h and d. */
  units: string;
}

/** Returns milliseconds. 0 if it is absent. Throws INVALID_REQUEST. */
export function querySpanMs(query: unknown, { minMs, maxMs, text, units }: SpanBounds): number {
  const { since = '' } = query as Record<string, unknown>;
  if (since === '') return 0;
  const [, digits, unit = ''] = (typeof since === 'string' && /^(\d{1,9})([smhd])$/.exec(since)) || [];
  const ms = digits === undefined || !units.includes(unit) ? Number.NaN : Number(digits) * UNITS_MS[unit]!;
  if (ms >= minMs && ms <= maxMs) return ms;
  throw new CoreError('INVALID_REQUEST', `"since" must be one number with a unit, ${text}.`);
}
