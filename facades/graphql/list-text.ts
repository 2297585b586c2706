/** Converts lists that GraphQL clients write as one text, and environments that they write as lists. */

import type { Command } from '../resources/command-line.ts';
import { dockerArgsOf } from '../resources/command-line.ts';
import { envFault } from '../resources/env-names.ts';
import { refused, toGraphqlError } from './core-calls.ts';

/** One environment variable. */
export interface EnvironmentVariable {
  key: string;
  value: string;
}

/** Splits a text at commas. Empty for null and for an empty text. */
export function listOf(text: string | null): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Joins the parts with commas. */
export function textOf(parts: readonly string[] | undefined): string {
  return (parts ?? []).join(',');
}

/** Parses dockerArgs. `null` counts as absent. Throws GraphQLError if quotes do not match. */
export function commandOf(dockerArgs: string | null | undefined): Command | undefined {
  try {
    return typeof dockerArgs === 'string' ? dockerArgsOf(dockerArgs) : undefined;
  } catch (error) {
    throw toGraphqlError(error);
  }
}

/**
 * Converts a list of variables. The last value of a repeated key counts. Throws GraphQLError if a name would be lost on
 * the way to core.
 */
export function environmentOf(variables: readonly EnvironmentVariable[]): Record<string, string> {
  const environment = Object.fromEntries(variables.map(({ key, value }) => [key, value]));
  const fault = envFault(environment);
  if (fault !== undefined) throw refused(fault);
  return environment;
}

/** Converts an environment to a list, ordered by key. */
export function variablesOf(
  environment: Readonly<Record<string, string | undefined>> | undefined,
): EnvironmentVariable[] {
  return Object.entries(environment ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({ key, value: value ?? '' }));
}
