/** The shape of every error of REST v2 (RFC 9457). */
import { Type } from 'typebox';
import { named } from '../schema-parts.ts';

/** Schema of a problem. */
export const problem = named(
  'Problem',
  Type.Object({
    title: Type.String({ description: 'The phrase of the status.' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    detail: Type.String({ description: 'What to do about it, for a person.' }),
    errors: Type.Optional(
      Type.Array(Type.String(), { description: 'With 422: each misfit by the way to its member.' }),
    ),
    code: Type.String({ description: 'Lower-case word for programs. An extension.' }),
  }),
);
