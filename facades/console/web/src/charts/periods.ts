/** The periods of a usage chart: when each begins, and its label. */

const DAY = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** Returns the label of a period that begins at `time` (RFC 3339, UTC): an hour, a day or a month. */
export function periodText(time: string, bucket: string): string {
  if (bucket === 'hour') return time.slice(11, 16);
  return (bucket === 'month' ? MONTH : DAY).format(new Date(time));
}

/**
 * Returns when each period between two moments begins, as RFC 3339. Core cuts time in the same way: in UTC, weeks begin
 * on Monday.
 */
export function periodsOf(startMs: number, endMs: number, bucket: string): string[] {
  const at = new Date(startMs);
  if (bucket === 'hour') at.setUTCMinutes(0, 0, 0);
  else at.setUTCHours(0, 0, 0, 0);
  if (bucket === 'week') at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  if (bucket === 'month') at.setUTCDate(1);
  const periods: string[] = [];
  while (at.getTime() <= endMs) {
    periods.push(at.toISOString());
    if (bucket === 'hour') at.setUTCHours(at.getUTCHours() + 1);
    else if (bucket === 'month') at.setUTCMonth(at.getUTCMonth() + 1);
    else at.setUTCDate(at.getUTCDate() + (bucket === 'week' ? 7 : 1));
  }
  return periods;
}
