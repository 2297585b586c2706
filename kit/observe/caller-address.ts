/**
 * Address of the client for whom a call of core is made. A facade sets it around each request, and every call that the
 * request makes carries it, however deep in the code.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Metadata key of the address, in calls of core. */
export const CALLER_ADDRESS_KEY = 'x-slipway-caller-address';

const addresses = new AsyncLocalStorage<() => string>();

/** Runs a function; `callerAddress` returns this address in it, and in all that it waits for. */
export function withCallerAddress<Result>(address: () => string, run: () => Result): Result {
  return addresses.run(address, run);
}

/** Returns the address of the client. Empty outside of a request. */
export function callerAddress(): string {
  return addresses.getStore()?.() ?? '';
}
