/** Formats values for people. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Age from which a date is more useful than a number of days. */
const RELATIVE_MS_MAX = 30 * DAY_MS;
const MIB_PER_GIB = 1024;

/** Returns `3 min ago`, or the date after 30 days. Empty without a time. */
export function ago(time: Date | undefined, nowMs: number): string {
  if (time === undefined) return '';
  const ms = nowMs - time.getTime();
  if (ms >= RELATIVE_MS_MAX) return time.toISOString().slice(0, 10);
  // Clocks of two machines differ a little.
  return ms < SECOND_MS ? 'just now' : `${roughly(ms)} ago`;
}

/** Returns the time as ISO 8601 and its age: `2026-11-28T02:50:00.000Z (3 min ago)`. `undefined` without a time. */
export function moment(time: Date | undefined, nowMs: number): string | undefined {
  return time && `${time.toISOString()} (${ago(time, nowMs)})`;
}

/** Returns a time span in one unit: `850 ms`, `12 s`, `3 min`, `5 h`, `2 d`. */
export function roughly(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} d`;
}

/** Returns a measured time span: `850 ms`, `12.3 s`. `undefined` stays `undefined`. */
export function measured(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  return ms < SECOND_MS ? `${Math.round(ms)} ms` : `${(ms / SECOND_MS).toFixed(1)} s`;
}

/** Returns a memory size: `512 MiB`, `24 GiB`. Empty for 0, which means unknown. */
export function memory(mib: number): string {
  if (mib === 0) return '';
  return mib < MIB_PER_GIB ? `${mib} MiB` : `${Math.round(mib / MIB_PER_GIB)} GiB`;
}

/** Returns a number with its noun: `1 job`, `2 jobs`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

/** Returns variables, one per line. `undefined` if there are none. */
export function variables(env: Readonly<Record<string, string>>): string | undefined {
  return (
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n') || undefined
  );
}

/** Joins the words of a command line, quoted where a shell would split them. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
