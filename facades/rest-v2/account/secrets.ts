/** Secrets of the account in REST v2. Their values are never answered. */
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { presentSecret } from '../../resources/secrets/present-secret.ts';
import type { Operation } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { conflict } from '../rejections.ts';
import { closed, moment, momentOrNull, named, textOrNull } from '../schema-parts.ts';

const ALL = '/v2/account/secrets';
const ONE = `${ALL}/{secretId}`;
const TAG = { tag: 'account' };

const NAME_LENGTH_MAX = 191;
/** Core counts bytes, of which a text has at least as many as characters. */
const VALUE_LENGTH_MAX = 131_072;
const DESCRIPTION_LENGTH_MAX = 65_535;

const value = Type.String({
  minLength: 1,
  maxLength: VALUE_LENGTH_MAX,
  description:
    'At most 131,072 bytes, which is the longest variable that a program can be started with. Never shown again.',
});
const description = Type.String({ maxLength: DESCRIPTION_LENGTH_MAX, description: 'At most 65,535 bytes.' });

const CreateSecret = named(
  'CreateSecretRequest',
  closed({
    name: Type.String({
      minLength: 1,
      maxLength: NAME_LENGTH_MAX,
      pattern: '^[a-zA-Z_][a-zA-Z0-9_.\\-/]*$',
      description: 'Unique in the account, and fixed. Must not begin with RUNPOD. Named as {{ RUNPOD_SECRET_name }}.',
      examples: ['hf-token'],
    }),
    value,
    description: Type.Optional(description),
  }),
);
const UpdateSecret = named(
  'UpdateSecretRequest',
  closed({ value: Type.Optional(value), description: Type.Optional(description) }, { minProperties: 1 }),
);
const SecretShape = named(
  'Secret',
  Type.Object({
    id: Type.String(),
    name: Type.String({ description: 'Environments name it as {{ RUNPOD_SECRET_name }}.' }),
    description: textOrNull('Null: none.'),
    createdAt: moment('When it was created.'),
    valueLastUpdatedAt: momentOrNull('When its value was set last.'),
    usedBy: Type.Array(
      Type.Object({
        kind: Type.String({ description: 'TEMPLATE, ENDPOINT or POD.' }),
        id: Type.String(),
        name: Type.String(),
      }),
      { description: 'What mentions it in its environment: the first 20.' },
    ),
    usedByCount: Type.Integer({ minimum: 0, description: 'Number of all that mention it.' }),
  }),
);

/** The operations. */
export const secretOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListSecrets',
    method: 'GET',
    path: ALL,
    summary: 'List the secrets of the account without their values, the newest first',
    query: Type.Object({
      ...PageQuery.properties,
      name: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX, description: 'Only the secret of this name.' })),
    }),
    status: 200,
    answer: named('ListSecretsResponse', listOf('secrets', SecretShape, 'The newest first.')),
    handle: (call, { core }) =>
      answerPage(call, 'ListSecrets', 'secrets', {
        read: ({ view, ...page }) => {
          const { name } = call.query;
          const filters: Record<string, string> = name === undefined ? {} : { name };
          const request = { ...page, view: { ...view, filters } };
          return core.secrets.call((client) => client.listSecrets, request, repeatable(call));
        },
        present: ({ secrets }) => secrets.map(presentSecret),
      }),
  }),
  operation({
    ...TAG,
    id: 'CreateSecret',
    method: 'POST',
    path: ALL,
    summary: 'Store a secret',
    body: CreateSecret,
    status: 201,
    answer: SecretShape,
    errors: [409],
    creates: true,
    handle: async (call, { core }) => {
      const { requestId, options } = creation(call);
      const request = { description: '', ...call.body, requestId };
      const made = await core.secrets.call((client) => client.createSecret, request, options).catch(asConflict);
      return presentSecret(made.secret);
    },
  }),
  operation({
    ...TAG,
    id: 'GetSecret',
    method: 'GET',
    path: ONE,
    summary: 'Read a secret without its value',
    status: 200,
    answer: SecretShape,
    handle: async (call, { core }) => {
      const id = call.path['secretId']!;
      return presentSecret((await core.secrets.call((client) => client.getSecret, { id }, repeatable(call))).secret);
    },
  }),
  operation({
    ...TAG,
    id: 'UpdateSecret',
    method: 'PATCH',
    path: ONE,
    summary: 'Change a value or description; what starts later gets the new value',
    body: UpdateSecret,
    status: 200,
    answer: SecretShape,
    handle: async (call, { core }) => {
      const request = { ...call.body, id: call.path['secretId']! };
      return presentSecret((await core.secrets.call((client) => client.updateSecret, request, once(call))).secret);
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteSecret',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a secret; running workers and pods that use it continue, but do not start again',
    status: 204,
    handle: async (call, { core }) => {
      await core.secrets.call((client) => client.deleteSecret, { id: call.path['secretId']! }, once(call));
    },
  }),
];

/** Throws the error, as 409 for a taken name: v2 treats that as a state of the account, not as a bad request. */
function asConflict(error: unknown): never {
  throw error instanceof CoreError && error.reason === 'NAME_TAKEN' ? conflict(error.message) : error;
}
