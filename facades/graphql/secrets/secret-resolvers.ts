/** Fields of secrets over SecretService. */
import type { CreateSecretResponse, Secret, UpdateSecretResponse } from '@slipway/proto/gen/slipway/v1/secret_service';
import type { Resolver } from '../core-calls.ts';
import { callCore, listCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { timeTextOf } from '../core-message.ts';

const SERVICE = 'SecretService';

interface CreateInput {
  name: string;
  value: string;
  description?: string | null;
}

interface UpdateInput {
  id: string;
  value?: string | null;
  description?: string | null;
}

/** Part of Mesh's `additionalResolvers`. */
export const secretResolvers = {
  User: {
    secrets: ((_root, _args, context) =>
      once(context, 'secrets', async () =>
        (await listCore<Secret>(context, [SERVICE, 'ListSecrets', 'secrets'], {})).map(presentSecret),
      )) satisfies Resolver,
  },
  Mutation: {
    secretCreate: (async (_root, { input: { name, value, description } }, context) => {
      const request = { name, value, description: description ?? '' };
      const { secret } = await callCore<CreateSecretResponse>(context, SERVICE, 'CreateSecret', request);
      return presentSecret(secret!);
    }) satisfies Resolver<{ input: CreateInput }>,
    secretUpdate: (async (_root, { input: { id, value, description } }, context) => {
      const request = {
        id,
        ...(typeof value === 'string' && { value }),
        ...(typeof description === 'string' && { description }),
      };
      const { secret } = await callCore<UpdateSecretResponse>(context, SERVICE, 'UpdateSecret', request);
      return presentSecret(secret!);
    }) satisfies Resolver<{ input: UpdateInput }>,
    secretDelete: (async (_root, { id }, context) => {
      await callCore(context, SERVICE, 'DeleteSecret', { id });
      return null;
    }) satisfies Resolver<{ id: string }>,
  },
};

function presentSecret(secret: CoreMessage<Secret>) {
  const { id, name, description, createTime, valueSetTime } = secret;
  const updatedAt = timeTextOf(valueSetTime);
  return {
    id,
    name,
    description: description || null,
    createdAt: timeTextOf(createTime),
    updatedAt,
    lastUpdatedAt: updatedAt,
  };
}
