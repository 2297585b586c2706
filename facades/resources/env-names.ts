/** Names of variables that would not reach core. */
import { CoreError } from '@slipway/proto/wire/reason';

/** Name that a JavaScript object cannot hold as a member. It would be lost silently on the way to core. */
const LOST_NAME = '__proto__';

/** Returns the fault in the names of an environment. `undefined` if there is none that core would miss. */
export function envFault(env: Readonly<Record<string, string>> | undefined): string | undefined {
  return env && Object.hasOwn(env, LOST_NAME) ? `env: "${LOST_NAME}" is not a name for a variable` : undefined;
}

/** Returns the environment. Throws INVALID_REQUEST if one of its names would be lost on the way to core. */
export function usableEnv<Env extends Record<string, string> | undefined>(env: Env): Env {
  const fault = envFault(env);
  if (fault !== undefined) throw new CoreError('INVALID_REQUEST', fault);
  return env;
}
