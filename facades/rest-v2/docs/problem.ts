/** The shape of every error of REST v2 (RFC 9457). */
import { Type } from 'typebox';
import { named } from '../schema-parts.ts';

/** Schema of a problem. */
export const problem = named(
  'Problem',
  Type.Object({
    title: Type.String({ description: 'The name of the HTTP status.' }),
    status: Type.Integer({ description: 'The HTTP status of the answer.' }),
    detail: Type.String({ description: 'What is wrong and what to do about it, for people. The wording may change.' }),
    errors: Type.Optional(
      Type.Array(Type.String(), { description: 'Only with 422: each fault, with the path of its member.' }),
    ),
    code: Type.String({
      description:
        'Error code for programs, for instance name_taken. /docs/errors has the cause and the fix of ' +
        'each. An extension.',
    }),
  }),
);
