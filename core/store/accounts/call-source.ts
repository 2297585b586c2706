/** Source of the call that makes a change: where it came from. Rows of the audit trail name it. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Where a call came from. */
export interface CallSource {
  /** IP address of the caller. Empty: core itself makes the change. */
  address: string;
  /** IP address of the facade that named `address`. Empty: the caller called core directly. */
  via: string;
}

const NONE: CallSource = { address: '', via: '' };
const sources = new AsyncLocalStorage<() => CallSource>();

/** Runs a call; changes that it makes, and all that it waits for, come from this source. */
export function fromSource<Result>(source: () => CallSource, run: () => Result): Result {
  return sources.run(source, run);
}

/** Returns the source of the current call. */
export function currentSource(): CallSource {
  return sources.getStore()?.() ?? NONE;
}
