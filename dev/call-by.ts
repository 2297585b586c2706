/** How the launcher calls core. */
import type { CallOptions } from '@slipway/facades/core-client/service-calls';

/** A call waits this long for core, also while core is being started again. */
const CALL_MS_MAX = 15_000;

/** In the name of a key, sent once. */
export function by(apiKey: string): CallOptions {
  return { apiKey, repeatable: false, tryMs: CALL_MS_MAX };
}
