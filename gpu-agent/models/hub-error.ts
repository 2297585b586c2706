/** Explains a hub's rejection, and decides whether another try may help. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { ModelError } from './model-error.ts';

/** A hub rejected a request. */
export class HubError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Milliseconds that the hub asks to wait. `undefined` if it does not say. */
  readonly waitMs: number | undefined;

  constructor(host: string, status: number, headers: IncomingHttpHeaders) {
    super(`${host} answers ${status}${reasonOf(headers)}`);
    this.status = status;
    this.waitMs = waitOf(headers);
  }
}

const REASON_CHARS_MAX = 200;
/** Longest pause that a hub may ask for, in milliseconds. */
const WAIT_MS_MAX = 300_000;
const TOO_MANY = 429;
const REQUEST_TIMEOUT = 408;
const SERVER_ERRORS = 500;

/** Returns whether the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ModelError) return error.fault === 'CORRUPT';
  if (!(error instanceof HubError)) return true;
  return error.status === TOO_MANY || error.status === REQUEST_TIMEOUT || error.status >= SERVER_ERRORS;
}

/** Returns whether a token may make the difference. The hub answers 404 for private repositories, too. */
export function mayNeedToken(error: unknown): boolean {
  return error instanceof HubError && [401, 403, 404].includes(error.status);
}

function reasonOf(headers: IncomingHttpHeaders): string {
  const text = headers['x-error-message'];
  return typeof text === 'string' && text !== '' ? `: ${text.slice(0, REASON_CHARS_MAX)}` : '';
}

/** Reads Retry-After in seconds; the form with a date is not used by hubs. */
function waitOf(headers: IncomingHttpHeaders): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, WAIT_MS_MAX) : undefined;
}
