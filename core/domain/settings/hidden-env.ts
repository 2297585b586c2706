/**
 * Environments as keys see them that may read resources but not change them: names without values. Pure. A value that
 * is only a reference to a secret reveals nothing and stays.
 */
import { invalid } from './fields.ts';

/** Stands for a value that is not shown. */
export const HIDDEN_VALUE = '***';

const ONLY_A_SECRET = /^\s*\{\{\s*RUNPOD_SECRET_[^{}]*\}\}\s*$/;

/** Returns the variables with hidden values. */
export function hiddenEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, ONLY_A_SECRET.test(value) ? value : HIDDEN_VALUE]),
  );
}

/**
 * Returns the variables of a request. Throws INVALID_REQUEST if a value is hidden: it was read with a key that may not
 * see it, and saving it would replace the true one.
 */
export function givenEnv(env: Record<string, string>): Record<string, string> {
  const hidden = Object.entries(env).find(([, value]) => value === HIDDEN_VALUE);
  if (!hidden) return env;
  throw invalid(
    `env: ${hidden[0]} is ${HIDDEN_VALUE}, which stands for a value that the reading key may not see; give its ` +
      'value, or read it with a key that may change this',
  );
}
