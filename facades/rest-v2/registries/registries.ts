/** Registry credentials in REST v2. They cannot be changed, only created again. */

import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { presentRegistryAuth } from '../../resources/registry-auths/present-registry-auth.ts';
import type { Operation } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, LAST_PAGE, listOf, PageQuery } from '../pages.ts';
import { against } from '../rejections.ts';
import { closed, named } from '../schema-parts.ts';

const ONE = '/v2/registries/{registryId}';
const DELEGATIONS = '/v2/registries/delegations';
const TAG = { tag: 'registries' };

const TEXT_LENGTH_MAX = 191;
const PASSWORD_LENGTH_MAX = 16_384;

const CreateRegistry = named(
  'CreateRegistryRequest',
  closed({
    name: Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description: 'Name, unique in the account.' }),
    username: Type.String({
      minLength: 1,
      maxLength: TEXT_LENGTH_MAX,
      description: 'User name. It is never shown again.',
    }),
    password: Type.String({
      minLength: 1,
      maxLength: PASSWORD_LENGTH_MAX,
      description: 'Password or token. It is never shown again.',
    }),
  }),
);
const RegistryShape = named('Registry', Type.Object({ id: Type.String(), name: Type.String() }));

const CreateDelegation = named(
  'CreateDelegationRequest',
  closed({
    resource: Type.String({ maxLength: 2_048 }),
    name: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: TEXT_LENGTH_MAX })),
  }),
);
const Delegation = named('EcrDelegation', Type.Object({ id: Type.String() }));

/** The operations. */
export const registryOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListRegistries',
    method: 'GET',
    path: '/v2/registries',
    summary: 'List credentials for registries, the newest first',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListRegistriesResponse', listOf('registries', RegistryShape, 'Newest first.')),
    handle: (call, { core }) =>
      answerPage(call, 'ListRegistries', 'registries', {
        read: (page) => core.registryAuths.call((client) => client.listRegistryAuths, page, repeatable(call)),
        present: ({ registryAuths }) => registryAuths.map(presentRegistryAuth),
      }),
  }),
  operation({
    ...TAG,
    id: 'CreateRegistry',
    method: 'POST',
    path: '/v2/registries',
    summary: 'Store credentials for a registry',
    body: CreateRegistry,
    status: 201,
    answer: RegistryShape,
    creates: true,
    handle: async (call, { core }) => {
      const { requestId, options } = creation(call);
      const request = { ...call.body, requestId };
      const made = await core.registryAuths.call((client) => client.createRegistryAuth, request, options);
      return presentRegistryAuth(made.registryAuth);
    },
  }),
  operation({
    ...TAG,
    id: 'ListDelegations',
    method: 'GET',
    path: DELEGATIONS,
    summary: 'List delegations (always empty)',
    status: 200,
    answer: named('ListDelegationsResponse', listOf('delegations', Delegation, 'Always empty.')),
    handle: async () => ({ delegations: [], pagination: LAST_PAGE }),
  }),
  operation({
    ...TAG,
    id: 'CreateDelegation',
    method: 'POST',
    path: DELEGATIONS,
    summary: 'Not available: registries of cloud accounts cannot be delegated',
    body: CreateDelegation,
    status: 201,
    answer: Delegation,
    handle: async () => {
      throw against(
        'Registries of cloud accounts are not delegated here: store a name and a token by POST /v2/registries.',
      );
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteDelegation',
    method: 'DELETE',
    path: `${DELEGATIONS}/{delegationId}`,
    summary: 'Not available: there are no delegations',
    status: 204,
    handle: async () => {
      throw new CoreError('NOT_FOUND', 'There is no such delegation.');
    },
  }),
  operation({
    ...TAG,
    id: 'GetRegistry',
    method: 'GET',
    path: ONE,
    summary: 'Read the name of credentials, never their secrets',
    status: 200,
    answer: RegistryShape,
    handle: async (call, { core }) => {
      const id = call.path['registryId']!;
      return presentRegistryAuth(
        (await core.registryAuths.call((client) => client.getRegistryAuth, { id }, repeatable(call))).registryAuth,
      );
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteRegistry',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete credentials that no pod uses, and remove them from templates',
    status: 204,
    errors: [400],
    handle: async (call, { core }) => {
      await core.registryAuths.call(
        (client) => client.deleteRegistryAuth,
        { id: call.path['registryId']!, clearTemplates: true },
        once(call),
      );
    },
  }),
];
