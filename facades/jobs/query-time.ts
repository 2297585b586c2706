/** Reads times in query strings: absolute, or relative to now. */
import { CoreError } from '@slipway/proto/wire/reason';

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;
const BEFORE_NOW = /^now-(\d{1,9})([smhd])$/;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns a time: ISO 8601 with zone, or relative such as `now-1h`. */
export function queryTime(query: unknown, name: string, nowMs: number): Date | undefined {
  const { [name]: text = '' } = query as Record<string, unknown>;
  if (text === '') return undefined;
  const [, digits, unit] = (typeof text === 'string' && BEFORE_NOW.exec(text)) || [];
  const [, day] = (typeof text === 'string' && TIME.exec(text)) || [];
  const dateMs = day !== undefined && isDay(day) ? Date.parse(text as string) : Number.NaN;
  const time = new Date(digits === undefined ? dateMs : nowMs - Number(digits) * UNITS_MS[unit!]!);
  if (!Number.isNaN(time.getTime())) return time;
  const known =
    'one ISO 8601 time with its zone, as 2026-01-31T12:00:00Z, or one before now, as now-90s, now-1h or now-7d';
  throw new CoreError('INVALID_REQUEST', `"${name}" must be ${known}.`);
}

/** Returns whether a text is a day of the calendar. Date.parse takes 2026-02-30 for a day in March. */
function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
