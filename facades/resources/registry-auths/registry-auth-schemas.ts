/**
 * Shapes of registry credentials (docs/reference/management.md#registry-credentials). They validate requests, serialize
 * responses and make the OpenAPI document.
 */

import type { Static } from 'typebox';
import { Type } from 'typebox';

/** Body of POST /containerregistryauth. */
export const RegistryAuthCreateInput = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 191, description: 'Name, unique in the account.' }),
    username: Type.String({ minLength: 1, maxLength: 1_024, description: 'User name. It is never shown again.' }),
    password: Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: 'Password or token. It is never shown again.',
    }),
  },
  { $id: 'ContainerRegistryAuthCreateInput', examples: [{ name: 'ghcr', username: 'me', password: 'token' }] },
);
export type RegistryAuthCreateInput = Static<typeof RegistryAuthCreateInput>;

/** Credentials as they are answered: without them. */
export const RegistryAuthRecord = Type.Object(
  { id: Type.String(), name: Type.String() },
  { $id: 'ContainerRegistryAuth' },
);
export type RegistryAuthRecord = Static<typeof RegistryAuthRecord>;

/** Path of one. */
export const RegistryAuthPath = Type.Object({
  containerRegistryAuthId: Type.String({ description: 'Id of the credentials.' }),
});
