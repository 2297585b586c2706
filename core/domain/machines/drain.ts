/** Machines that are emptied of workers. */
import { checkText, invalid } from '../settings/fields.ts';

/** A machine that is being emptied of workers, or is. */
export interface DrainState {
  sinceMs: number;
  /** Time at which what still runs is handed back. Null: never. */
  deadlineMs: number | null;
  reason: string;
  /** Workers that are still there. */
  workers: number;
  /** Jobs that still run there. */
  jobs: number;
  /** Pods on it, which stay. */
  pods: number;
}

/** Deadline and reason of a drain, as the operator requests it. */
export interface DrainRequest {
  /** Milliseconds from now until what still runs is handed back. `undefined`: never. */
  deadlineMs: number | undefined;
  reason: string;
}

const DEADLINE_MS_MAX = 7 * 24 * 3_600_000;
const REASON_LENGTH_MAX = 500;

/** Throws INVALID_REQUEST if a value is out of range. */
export function checkDrain({ deadlineMs = 0, reason }: DrainRequest): void {
  if (deadlineMs < 0 || deadlineMs > DEADLINE_MS_MAX)
    throw invalid(`deadline_ms is ${deadlineMs}, but must be from 0 to ${DEADLINE_MS_MAX}`);
  checkText('reason', reason);
  if (reason.length > REASON_LENGTH_MAX) throw invalid(`reason is longer than ${REASON_LENGTH_MAX} characters`);
}
