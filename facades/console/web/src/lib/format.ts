/** Numbers and times for people. */

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
// Times use the 24-hour clock everywhere, because AM and PM are hard to find in columns of times.
const HOURS = { hourCycle: 'h23', hour: '2-digit', minute: '2-digit' } as const;
const CLOCK = new Intl.DateTimeFormat(undefined, { ...HOURS, second: '2-digit' });
const MINUTE = new Intl.DateTimeFormat(undefined, HOURS);
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const RECENT = new Intl.DateTimeFormat(undefined, { ...HOURS, month: 'short', day: 'numeric', second: '2-digit' });
const MOMENT = new Intl.DateTimeFormat(undefined, {
  ...HOURS,
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  second: '2-digit',
});

/** Formats a count. From 100,000 on it is shortened. */
export function count(value: number): string {
  return value >= 100_000 ? SHORT.format(value) : COUNT.format(value);
}

/** Formats a number of bytes as the GB (10^9) of disks and of models. */
export function gigabytes(value: number): string {
  return `${count(value / 1e9)}\u00A0GB`;
}

/** Returns core's text with no line break between a number and its unit. */
export function unbroken(text: string): string {
  return text.replaceAll(/(\d) (?=(?:ms|s|min|h|d|GB|GiB|MiB|%)(?![\p{L}\d]))/gu, '$1\u00A0');
}

/** Formats a number with its noun: `1 job`, `2 jobs`. */
export function counted(value: number, what: string): string {
  return `${count(value)} ${what}${value === 1 ? '' : 's'}`;
}

/** Returns the text of a job's state or of a similar word. */
export function stateText(state: string): string {
  if (state === 'FROZEN') return 'standby';
  return state.toLowerCase().replaceAll('_', ' ');
}

/** Formats a time span in the most readable unit. */
export function span(ms: number | undefined): string {
  return ms === undefined ? '–' : unbroken(spanOf(ms));
}

function spanOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  // The rest is cut off: rounded up it could be a whole one of the larger unit.
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`;
}

/** Formats a time span that is a whole number of a unit, as axis marks are, without zero parts. */
export function roundSpan(ms: number): string {
  return span(ms).replace(/\.0(?=\u00A0)|\s0\u00A0(?:s|min|h)$/gu, '');
}

/** Formats the age of an instant. `nowMs`: by the server's clock. */
export function ago(atMs: number, nowMs: number): string {
  return nowMs - atMs < 2_000 ? 'now' : `${span(nowMs - atMs)} ago`;
}

/** Formats a time of day. */
export function clock(atMs: number): string {
  return CLOCK.format(atMs);
}

/** Formats a time on an axis with marks every `stepMs`. A mark at the start of a day shows the day. */
export function mark(atMs: number, stepMs: number): string {
  const at = new Date(atMs);
  if (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0) return DAY.format(at);
  return (stepMs < 60_000 ? CLOCK : MINUTE).format(at);
}

/** Formats a day and time of the last days. */
export function recently(atMs: number): string {
  return RECENT.format(atMs);
}

/** Formats a day and time. */
export function moment(atMs: number): string {
  return MOMENT.format(atMs);
}

/** Time zone of all times that are shown. */
export const ZONE = CLOCK.resolvedOptions().timeZone;

/** Formats a time for a date and time input, in this browser's zone. Empty for an invalid time. */
export function localTime(atMs: number): string {
  if (Number.isNaN(atMs)) return '';
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Formats a number of bytes. */
export function bytes(value: number): string {
  const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];
  if (value < 1_024) return `${value}\u00A0B`;
  const power = Math.min(Math.floor(Math.log2(value) / 10), UNITS.length);
  return `${(value / 1_024 ** power).toFixed(1)}\u00A0${UNITS[power - 1]}`;
}

/** Formats a share, 0 to 1, as a percentage. */
export function share(value: number): string {
  return `${Math.round(value * 100)}\u00A0%`;
}

/** Formats the memory of a GPU or machine. */
export function mib(value: number): string {
  return value >= 1_024 ? `${Math.round(value / 1_024)}\u00A0GiB` : `${value}\u00A0MiB`;
}
