/** Classifies database failures and retries transient ones. */

import { retry } from '@slipway/kit/lifecycle/retry';
import type { Clock, Random } from '@slipway/kit/time/clock';

/**
 * SQLSTATEs and codes of driver and sockets after which the same statement may succeed: lost connections, a database
 * that starts, deadlocks, races, a full disk or memory (53100, 53200), a standby that answers during a failover
 * (25006), a statement or transaction that an administrator ended, or a time limit of the operator (57014, 25P03,
 * 25P04), a password that is being changed (28P01).
 */
const TRANSIENT = new Set([
  '40001',
  '40P01',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53100',
  '53200',
  '53300',
  '55P03',
  '25006',
  '57014',
  '25P03',
  '25P04',
  '28P01',
  // The endpoint was deleted between the statement's snapshot and the update of its counter row.
  '23503',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_SOCKET_CLOSED',
]);

/** The key of gpu_hold (drizzle/schema/scaling/gpu-hold.ts). */
const GPU_HOLD_KEY = 'gpu_hold_machine_id_gpu_uuid_pk';

/**
 * Code for a message out of order. PostgreSQL itself never returns it to core; PgBouncer returns it for settings that
 * it does not pass on.
 */
export const PROTOCOL_VIOLATION = '08P01';

/** Returns whether a retry may succeed. The outcome of the failed statement is unknown: it may have committed. */
export function isTransient(error: unknown): boolean {
  // drizzle wraps the driver's error.
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  const passes =
    typeof code === 'string' && code !== PROTOCOL_VIOLATION && (TRANSIENT.has(code) || code.startsWith('08'));
  return passes || (cause !== undefined && isTransient(cause));
}

/** The database is full, or has rejected statements for so long that callers must not wait for it. */
export class DatabaseAwayError extends Error {
  /** Code of the driver or the server, for the log. */
  readonly code: string;

  constructor(cause: unknown) {
    super(isDiskFull(cause) ? "the database's disk is full" : 'the database is away', { cause });
    this.name = 'DatabaseAwayError';
    this.code = codeOf(cause);
  }
}

function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? '' : codeOf(cause);
}

/** Returns whether the database's disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === '53100' || (cause !== undefined && isDiskFull(cause));
}

/**
 * Returns true if the database cannot be written to, for instance because it is a standby. The operator must promote
 * it, or route core to another one.
 */
export function isReadOnly(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === '25006' || (cause !== undefined && isReadOnly(cause));
}

/** Returns whether a connection was not open and logged in in time. */
export function isConnectTimeout(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === 'CONNECT_TIMEOUT' || (cause !== undefined && isConnectTimeout(cause));
}

/** Returns whether a wait for a lock timed out. */
export function isLockTimeout(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === '55P03' || (cause !== undefined && isLockTimeout(cause));
}

/**
 * Returns whether PostgreSQL rejected the role, its password or the database name: the operator must correct the URL.
 */
export function isAccessDenied(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return code === '28P01' || code === '28000' || code === '3D000' || (cause !== undefined && isAccessDenied(cause));
}

/** Returns whether PostgreSQL rejected a text because it contains NUL, the only character that it cannot store. */
export function isUnstorable(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return code === '22021' || cause?.code === '22021';
}

/** Returns whether a row violates a unique constraint. drizzle wraps the driver's error. */
export function isDuplicate(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return code === '23505' || cause?.code === '23505';
}

/** Returns whether a placement failed because another one took one of its GPUs first. */
export function isGpuTaken(error: unknown): boolean {
  const { constraint_name: name, cause } = (error ?? {}) as { constraint_name?: unknown; cause?: unknown };
  return name === GPU_HOLD_KEY || (cause !== undefined && isGpuTaken(cause));
}

/** Tries of a transaction that deadlocks. */
const DEADLOCK_TRIES_MAX = 3;

/**
 * Runs a transaction and retries it after a conflict, by default a deadlock: nothing of the failed try was done.
 * Changes of an endpoint and reports of machines lock the same workers one after the other, so deadlocks are
 * expected.
 */
export async function retryOnDeadlock<Result>(
  transaction: () => Promise<Result>,
  isConflict = isDeadlock,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (tries === DEADLOCK_TRIES_MAX || !isConflict(error)) throw error;
    }
  }
}

function isDeadlock(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return code === '40P01' || cause?.code === '40P01';
}

const PAUSE = { firstMs: 10, maxMs: 500 };

/** Options of `persist`. */
interface PersistOptions {
  clock: Clock;
  random: Random;
  /**
   * Gives up this many milliseconds after the first try; a function is called at each failure. Infinity never gives
   * up.
   */
  forMs: number | ((error: unknown) => number);
  /** Gives up when aborted. */
  signal: AbortSignal;
  /** Called for every failed try. */
  onFailure?(error: unknown): void;
}

/**
 * Runs an idempotent statement until it succeeds, fails permanently, or the time is up; then throws the last failure.
 */
export async function persist<Result>(work: () => Promise<Result>, options: PersistOptions): Promise<Result> {
  return retry(work, { ...options, pause: PAUSE, mayHelp: isTransient });
}
