/** The error of a document that cannot run. Imports nothing at run time, because routes are loaded without GraphQL. */
import type { GraphQLError } from 'graphql';

/** The document has syntax errors or does not fit the schema. */
export class InvalidDocument extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('invalid document');
    this.name = 'InvalidDocument';
    this.errors = errors;
  }
}
