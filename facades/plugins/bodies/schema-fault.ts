/**
 * Explains why a request does not fit its schema. For a word that is not allowed the text lists the allowed ones.
 */
import type { FastifySchemaValidationError } from 'fastify';

/** Returns the first fault. `part`: the part of the request that it is in. */
export function schemaFault(errors: readonly FastifySchemaValidationError[], part: string): Error {
  const { keyword, instancePath, params, message } = errors[0]!;
  // null means absent. The text for people leaves it out.
  const fault =
    keyword === 'enum'
      ? `must be ${oneOf((params['allowedValues'] as unknown[]).filter((value) => value !== null))}`
      : message;
  return new Error(`${part}${instancePath} ${fault}`);
}

function oneOf(words: readonly unknown[]): string {
  return words.length === 1 ? String(words[0]) : `one of ${words.join(', ')}`;
}
