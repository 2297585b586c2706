/** Values of environment variables that a key may not see (Endpoint.env of the contract). */

/** Stands for such a value in answers. No request may set it. */
export const HIDDEN_VALUE = '***';

/** Returns the name of a variable whose value is hidden. `undefined`: all values are shown. */
export function hiddenVariable(env: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(env).find((name) => env[name] === HIDDEN_VALUE);
}
