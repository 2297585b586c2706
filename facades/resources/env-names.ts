/** Names of variables that would not reach core. */
import { CoreError } from '@slipway/proto/wire/reason';

/** The name that JavaScript objects cannot have: it would be lost on the way to core, unnoticed. */
const LOST_NAME = '__proto__';

/** Returns the fault in the names of an environment. `undefined` if there is none that core would miss. */
export function envFault(env: Readonly<Record<string, string>> | undefined): string | undefined {
  return env && Object.hasOwn(env, LOST_NAME) ? `env: "${LOST_NAME}" is not a name for a variable` : undefined;
}

/** The environment, if core would get all of it. INVALID_REQUEST: one of its names would be lost. */
export function usableEnv<Env extends Record<string, string> | undefined>(env: Env): Env {
  const fault = envFault(env);
  if (fault !== undefined) throw new CoreError('INVALID_REQUEST', fault);
  return env;
}
