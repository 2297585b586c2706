/**
 * Readers of option values. Values that cannot be valid are rejected before anything is sent. Core decides which values
 * are allowed.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { InvalidArgumentError } from 'commander';
import { UsageError } from './failures.ts';

const INT32_MAX = 2 ** 31 - 1;
const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Returns a reader of whole numbers in [min, max]. */
export function wholeNumber(min = 0, max = INT32_MAX): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^-?\d{1,16}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Reads a time span with its unit. Returns milliseconds. */
export function span(text: string): number {
  const [, digits, unit] = /^(\d{1,12})(ms|s|m|min|h|d)$/.exec(text) ?? [];
  if (digits === undefined)
    throw new InvalidArgumentError('It must be a number with a unit: 500ms, 90s, 10m, 2h or 1d.');
  return Number(digits) * UNITS_MS[unit!]!;
}

/** Throws UsageError if `--since` is not from one minute to `max`, which is a time span with its unit. 0: not given. */
export function checkSince(spanMs: number, max: '12h' | '7d', what: string): void {
  if (spanMs === 0 || (spanMs >= UNITS_MS['m']! && spanMs <= span(max))) return;
  throw new UsageError(`--since must be from 1m to ${max} for ${what}.`);
}

/**
 * Reads the id of an error group. An empty one, for instance from an unset shell variable, is rejected because it would
 * mean all jobs.
 */
export function errorGroup(text: string): string {
  if (/^[\da-f]{16}$/.test(text)) return text;
  throw new InvalidArgumentError(
    'It must be the id of a group of errors, as `slipway errors` lists them: 16 hexadecimal digits.',
  );
}

/** Reads a listen address: host:port, or a port of the loopback address. The program that listens validates it. */
export function listenAddress(text: string): string {
  return /^\d{1,5}$/.test(text) ? `127.0.0.1:${text}` : text;
}

/** Returns a parser of one of some words, in any case, with - or _. Its `words` are for shell completion. */
export function oneOf<Value>(
  words: Readonly<Record<string, Value>>,
): ((text: string) => Value) & { words: readonly string[] } {
  const read = (text: string): Value => {
    const found = Object.entries(words).find(([word]) => word === text.toLowerCase().replaceAll('_', '-'));
    if (!found) throw new InvalidArgumentError(`It must be one of ${Object.keys(words).join(', ')}.`);
    return found[1];
  };
  return Object.assign(read, { words: Object.keys(words) });
}

/** Collects the values of a repeated option. A single empty value makes an empty list. */
export function collect(text: string, before: string[] | undefined): string[] {
  return text === '' ? (before ?? []) : [...(before ?? []), text];
}

/** Collects repeated `NAME=value`. A single empty value makes an empty set. Throws UsageError. */
export function collectVariables(text: string, before: Record<string, string> | undefined): Record<string, string> {
  if (text === '') return before ?? {};
  const equals = text.indexOf('=');
  // An error of commander would quote the text, which may be a secret.
  if (equals < 1) throw new UsageError('A variable must be given as NAME=value.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

/** Parses an amount in US dollars. Throws UsageError. */
export function dollars(text: string): number {
  if (/^\d{1,7}(\.\d{1,9})?$/.test(text)) return Number(text);
  throw new UsageError('The price must be an amount in US dollars, for instance 0.45.');
}

/** Reads a date (midnight UTC) or an ISO 8601 time. */
export function time(text: string): Date {
  const date = new Date(text);
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d)?)?$/.test(text) && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError('It must be a date as 2026-01-31 or a time as 2026-01-31T12:00:00Z.');
}

/** Options of a range of time. */
export interface TimeRange {
  /** Milliseconds before now. */
  since?: number;
  from?: Date;
  to?: Date;
}

/** Returns the start of a range. `undefined` if it has none. */
export function startOf(clock: Pick<Clock, 'nowMs'>, { since, from }: TimeRange): Date | undefined {
  if (since === undefined) return from;
  if (from !== undefined) throw new UsageError('Give either --since or --from: both say from when on.');
  return new Date(clock.nowMs() - since);
}
