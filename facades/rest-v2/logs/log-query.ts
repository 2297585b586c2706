/** Parses the query of a log in REST v2: which lines are requested. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import { queryTime } from '../../jobs/query-time.ts';
import type { LinePosition } from './line-ids.ts';

/** Most earlier lines, and their default number. */
export const TAIL_MAX = 5_000;
export const TAIL_DEFAULT = 100;
/** REST v2 defines the first two. Its MCP server also sends `both`. */
export const SOURCES = ['container', 'system', 'both'] as const;
const LAST_ID = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** A parsed query. */
export interface LogQuery extends LinePosition {
  /** `container`: what its program wrote. `system`: events of its worker or pod. `both` or empty: all lines. */
  source: string;
  /** Number of past lines to send first. `undefined` if all lines since a time are sent. */
  tail: number | undefined;
}

/**
 * Parses `tail` (0 to 5,000, default 100; 0: only new lines), `since` (a time; overrides `tail`) and `source`.
 * Last-Event-ID overrides both.
 */
export function logQuery({ query, headers }: FastifyRequest, nowMs: number): LogQuery {
  const { source = '', tail = '' } = query as Record<string, unknown>;
  const isKnown = typeof source === 'string' && (source === '' || (SOURCES as readonly string[]).includes(source));
  if (!isKnown) throw invalid(`"source" must be one of ${SOURCES.join(', ')}.`);
  const named = typeof tail === 'string' && /^\d{1,4}$/.test(tail) ? Number(tail) : Number.NaN;
  const lines = tail === '' ? TAIL_DEFAULT : named;
  if (!(lines <= TAIL_MAX)) throw invalid(`"tail" must be a whole number from 0 to ${TAIL_MAX}.`);
  const lastId = lastIdOf(headers['last-event-id']);
  const since = lastId === '' ? queryTime(query, 'since', nowMs) : undefined;
  return { source, lastId, since, tail: since || lastId !== '' ? undefined : lines };
}

/** Returns an id in the form of our own ids. */
function lastIdOf(text: unknown): string {
  if (text === undefined || text === '') return '';
  const [, seconds, digits = ''] = (typeof text === 'string' && LAST_ID.exec(text.trim())) || [];
  if (seconds === undefined)
    throw invalid('Last-Event-ID must be the id of an event: a time, as 2026-01-31T12:00:00.123000004Z.');
  return `${seconds}.${digits.padEnd(9, '0')}Z`;
}

function invalid(text: string): CoreError {
  return new CoreError('INVALID_REQUEST', text);
}
