/** Options of the launcher's calls of core. */
import type { CallOptions } from '@slipway/facades/core-client/service-calls';

/** Longest wait of a call for core, in milliseconds. It covers a restart of core. */
const CALL_MS_MAX = 15_000;

/** Returns options of a call that is authenticated by a key and sent once. */
export function by(apiKey: string): CallOptions {
  return { apiKey, repeatable: false, tryMs: CALL_MS_MAX };
}
