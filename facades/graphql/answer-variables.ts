/**
 * Bounds the environment variables of one answer. A document may ask for the same long list under many names, and an
 * object for each variable takes more memory than its text.
 */
import { ANSWER_BYTES_MAX, answerTooLong } from './answer-text.ts';
import type { GraphqlContext } from './core-calls.ts';
import { toGraphqlError } from './core-calls.ts';

/** Memory of a variable's objects besides its text, in bytes, roughly. */
const VARIABLE_BYTES = 200;

/** Counts an environment that becomes part of the answer. Throws INVALID_REQUEST once there are too many. */
export function countVariables(
  { selectsEnv, variables }: Pick<GraphqlContext, 'selectsEnv' | 'variables'>,
  environment: Readonly<Record<string, string | undefined>> | undefined,
): void {
  if (!selectsEnv || !environment) return;
  for (const name in environment) variables.bytes += VARIABLE_BYTES + name.length + (environment[name]?.length ?? 0);
  if (hasTooManyVariables(variables)) throw toGraphqlError(answerTooLong());
}

/** Returns whether the answer has more variables than fit. */
export function hasTooManyVariables(variables: GraphqlContext['variables']): boolean {
  return variables.bytes > ANSWER_BYTES_MAX;
}
