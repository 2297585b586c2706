/** Fields of registry credentials over RegistryAuthService. */
import type { CreateRegistryAuthResponse, RegistryAuth } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import type { Resolver } from '../core-calls.ts';
import { callCore, listCore, once } from '../core-calls.ts';

const SERVICE = 'RegistryAuthService';

interface Secrets {
  username: string;
  password: string;
}

/** Part of Mesh's `additionalResolvers`. */
export const registryAuthResolvers = {
  User: {
    containerRegistryCreds: ((_root, _args, context) =>
      once(context, 'registry auths', () =>
        listCore<RegistryAuth>(context, [SERVICE, 'ListRegistryAuths', 'registryAuths'], {}),
      )) satisfies Resolver,
  },
  Mutation: {
    saveRegistryAuth: (async (_root, { input }, context) =>
      (await callCore<CreateRegistryAuthResponse>(context, SERVICE, 'CreateRegistryAuth', { ...input }))
        .registryAuth) satisfies Resolver<{ input: Secrets & { name: string } }>,
    updateRegistryAuth: (async (_root, { input }, context) =>
      (await callCore<CreateRegistryAuthResponse>(context, SERVICE, 'UpdateRegistryAuth', { ...input }))
        .registryAuth) satisfies Resolver<{ input: Secrets & { id: string } }>,
    deleteRegistryAuth: (async (_root, { registryAuthId }, context) => {
      await callCore(context, SERVICE, 'DeleteRegistryAuth', { id: registryAuthId });
      return null;
    }) satisfies Resolver<{ registryAuthId: string }>,
  },
};
