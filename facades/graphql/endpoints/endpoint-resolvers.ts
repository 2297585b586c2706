/** Fields of endpoints over EndpointService. They only translate; core decides what is allowed. */

import type { GetEndpointResponse } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { GraphQLError } from 'graphql';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import type { Table } from '../../resources/field.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import type { GraphqlContext, Resolver } from '../core-calls.ts';
import { callCore, orNull, refused, updateCore } from '../core-calls.ts';
import { presentPod } from '../pods/present-pod.ts';
import { readEnded, readWorkers, workersByEndpoint } from '../pods/read-pods.ts';
import { presentTemplates } from '../templates/present-template.ts';
import { templatesById } from '../templates/read-templates.ts';
import { volumesById } from '../volumes/read-volumes.ts';
import type { EndpointInput, EndpointMessage } from './endpoint-fields.ts';
import { endpointFields } from './endpoint-fields.ts';
import { withInlineTemplate } from './inline-template.ts';
import type { EndpointRecord } from './present-endpoint.ts';
import { presentEndedWorkers, presentEndpoint } from './present-endpoint.ts';
import { listEndpoints, readEndpoint, readEndpointTemplate } from './read-endpoints.ts';

const SERVICE = 'EndpointService';

type Presented = ReturnType<typeof presentEndpoint>;

/** Fields that clients set to 0 for no limit (docs/reference/management.md#graphql-endpoints). */
const MAY_BE_ZERO: ReadonlySet<string> = new Set(['executionTimeoutMs']);

const saveEndpoint: Resolver<{ input: EndpointInput }> = async (_root, { input }, context) => {
  const { template, ...given } = input;
  if (!input.id) checkComplete(input);
  const save = (templateId: string | null | undefined): Promise<Presented> => {
    const fields = endpointFields({ ...given, templateId });
    return input.id ? updateEndpoint(input.id, fields, context) : createEndpoint(fields, context);
  };
  return template ? withInlineTemplate(template, input, context, save) : save(input.templateId);
};

/**
 * Checks the fields that GraphQL requires of a new endpoint (docs/reference/management.md#graphql), and those that may
 * not be 0: in the contract 0 is the default.
 */
function checkComplete(input: EndpointInput): void {
  const { name, gpuIds, instanceIds } = input;
  for (const { graphql, rule } of Object.values<Table[string]>(ENDPOINT)) {
    if (graphql?.in === undefined || input[graphql.name] !== 0 || MAY_BE_ZERO.has(graphql.name)) continue;
    if ((rule.min ?? 0) > 0) throw refused(`${graphql.name} is 0, but must be at least ${rule.min}.`);
  }
  if (typeof name !== 'string') throw refused('name is required for a new endpoint; to change one, give its id.');
  if (typeof gpuIds === 'string' || instanceIds?.length) return;
  throw refused(
    'gpuIds is required for a new endpoint: name GPU pools or types, for instance "AMPERE_24"; an ' +
      'empty text takes any.',
  );
}

async function createEndpoint({ changes }: FieldChanges<EndpointMessage>, context: GraphqlContext): Promise<Presented> {
  const { workersMax, retryLimit, ...endpoint } = changes;
  const request = {
    endpoint,
    ...(workersMax === undefined ? {} : { workersMax }),
    ...(retryLimit === undefined ? {} : { retryLimit }),
  };
  const { endpoint: created } = await callCore<GetEndpointResponse>(context, SERVICE, 'CreateEndpoint', request);
  return presentEndpoint(created!, context.accountId);
}

async function updateEndpoint(
  id: string,
  fields: FieldChanges<EndpointMessage>,
  context: GraphqlContext,
): Promise<Presented> {
  const { endpoint } = await updateCore<GetEndpointResponse>(context, [SERVICE, 'Endpoint', 'endpoint'], id, fields);
  return presentEndpoint(endpoint!, context.accountId);
}

/** Explains to a client that cannot delete yet which request must come first. */
function explain(error: unknown, id: string): unknown {
  if (!(error instanceof GraphQLError) || error.extensions['reason'] !== 'WORKERS_NOT_ZERO') return error;
  const text =
    'workersMin and workersMax must both be 0 before an endpoint is deleted: ' +
    `first send mutation { saveEndpoint(input: { id: ${JSON.stringify(id)}, workersMin: 0, workersMax: 0 }) { id } }.`;
  return new GraphQLError(text, { extensions: error.extensions });
}

const endpoint: Resolver<{ id: string }> = (_root, { id }, context) =>
  orNull(readEndpoint(id, context).then((found) => presentEndpoint(found, context.accountId)));

/** Part of Mesh's `additionalResolvers`. */
export const endpointResolvers = {
  Query: { endpoint },
  User: {
    endpoint,
    endpoints: (async (_root, _args, context) =>
      (await listEndpoints(context)).map((each) => presentEndpoint(each, context.accountId, true))) satisfies Resolver,
  },
  Mutation: {
    saveEndpoint,
    updateEndpointTemplate: ((_root, { input }, context) =>
      updateEndpoint(
        input?.endpointId ?? '',
        { changes: { templateId: input?.templateId ?? '' }, mask: ['template_id'] },
        context,
      )) satisfies Resolver<{ input?: { endpointId: string; templateId: string } | null }>,
    deleteEndpoint: (async (_root, { id }, context) => {
      await callCore(context, SERVICE, 'DeleteEndpoint', { id }).catch((error: unknown) => {
        throw explain(error, id);
      });
      return null;
    }) satisfies Resolver<{ id: string }>,
  },
  Endpoint: {
    template: (async ({ id, templateId, listed }, _args, context) => {
      // A public template of another account is in no list of this account. The endpoint runs the version that it was
      // given.
      const run =
        (listed ? (await templatesById(context)).get(templateId) : undefined) ??
        (await orNull(readEndpointTemplate(id, context)));
      return run && presentTemplates([run], context)[0];
    }) satisfies Resolver<unknown, EndpointRecord>,
    pods: (async ({ id, listed }, _args, context) => {
      const workers = listed ? ((await workersByEndpoint(context)).get(id) ?? []) : await readWorkers(id, context);
      return workers.map((worker) => presentPod(worker, context.nowMs));
    }) satisfies Resolver<unknown, EndpointRecord>,
    endedWorkers: (async (found, _args, context) =>
      (await readEnded(found, context)).map(presentEndedWorkers)) satisfies Resolver<unknown, EndpointRecord>,
    networkVolume: (({ networkVolumeId }, _args, context) => {
      if (networkVolumeId === null) return null;
      return volumesById(context).then((volumes) => volumes.get(networkVolumeId) ?? { id: networkVolumeId });
    }) satisfies Resolver<unknown, EndpointRecord>,
  },
  EndpointNetworkVolume: {
    dataCenterId: (async ({ networkVolumeId }, _args, context) =>
      (await volumesById(context)).get(networkVolumeId)?.dataCenterId ?? null) satisfies Resolver<
      unknown,
      { networkVolumeId: string }
    >,
  },
};
