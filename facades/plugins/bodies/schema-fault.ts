/**
 * Why a request does not fit its schema, for a person: a word that is none of those allowed is told with them, so that
 * nobody has to look them up.
 */
import type { FastifySchemaValidationError } from 'fastify';

/** The first fault. `part`: what of the request it is in. */
export function schemaFault(errors: readonly FastifySchemaValidationError[], part: string): Error {
  const { keyword, instancePath, params, message } = errors[0]!;
  // null stands for what is left out; a person need not be told.
  const said =
    keyword === 'enum'
      ? `must be ${oneOf((params['allowedValues'] as unknown[]).filter((value) => value !== null))}`
      : message;
  return new Error(`${part}${instancePath} ${said}`);
}

function oneOf(words: readonly unknown[]): string {
  return words.length === 1 ? String(words[0]) : `one of ${words.join(', ')}`;
}
