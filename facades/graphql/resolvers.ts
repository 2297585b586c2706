/** The public fields over the raw calls of the contract. Translation only: what is allowed is core's to decide. */
import { GraphQLScalarType } from 'graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { CoreError } from '../../proto/wire/reason.ts';
import { ENDPOINT_FIELDS, ENDPOINTS_FIELDS, TEMPLATE_FIELDS, TEMPLATES_FIELDS, callCore, toGraphqlError } from './core-calls.ts';
import type { CoreEndpoint, CoreTemplate, GraphqlContext } from './core-calls.ts';
import { endpointFields } from './endpoint-fields.ts';
import type { EndpointInput } from './endpoint-fields.ts';
import { presentEndpoint, presentTemplate } from './present.ts';
import { templateFields } from './template-fields.ts';
import type { TemplateInput } from './template-fields.ts';

type Resolver<Args, Root = unknown> = (root: Root, args: Args, context: GraphqlContext, info: GraphQLResolveInfo) => Promise<unknown>;

const ENDPOINTS = 'EndpointService';
const TEMPLATES = 'TemplateService';

const saveEndpoint: Resolver<{ input: EndpointInput }> = async (_root, { input }, context, info) => {
  const { changes, mask } = translated(() => endpointFields(input));
  if (input.id) return updateEndpoint(input.id, changes, mask, context, info);
  const { workersMax, ...endpoint } = changes;
  const request = { endpoint, ...(workersMax === undefined ? {} : { workersMax }) };
  const created = await callCore<{ endpoint: CoreEndpoint }>(ENDPOINTS, 'CreateEndpoint', request, ENDPOINT_FIELDS, context, info);
  return presentEndpoint(created.endpoint);
};

const updateEndpointTemplate: Resolver<{ input: { endpointId: string; templateId: string } }> = (_root, { input }, context, info) =>
  updateEndpoint(input.endpointId, { templateId: input.templateId }, ['template_id'], context, info);

const saveTemplate: Resolver<{ input?: TemplateInput }> = async (_root, { input = {} }, context, info) => {
  const { changes, mask } = templateFields(input);
  const template = input.id ? { ...changes, id: input.id } : { serverless: false, ...changes };
  const request = input.id ? { template, updateMask: { paths: mask } } : { template };
  const method = input.id ? 'UpdateTemplate' : 'CreateTemplate';
  const saved = await callCore<{ template: CoreTemplate }>(TEMPLATES, method, request, TEMPLATE_FIELDS, context, info);
  return presentTemplate(saved.template);
};

const deleteTemplate: Resolver<{ templateName?: string }> = async (_root, { templateName }, context, info) => {
  const { templates } = await callCore<{ templates: CoreTemplate[] | null }>(TEMPLATES, 'ListTemplates', {}, TEMPLATES_FIELDS, context, info);
  const found = templates?.find((template) => template.name === templateName);
  if (!found) throw toGraphqlError(new CoreError('TEMPLATE_NOT_FOUND', `There is no template named ${JSON.stringify(templateName)}.`));
  await callCore(TEMPLATES, 'DeleteTemplate', { id: found.id }, '{ __typename }', context, info);
  return null;
};

const podTemplates: Resolver<unknown> = async (_root, _args, context, info) => {
  const { templates } = await callCore<{ templates: CoreTemplate[] | null }>(TEMPLATES, 'ListTemplates', {}, TEMPLATES_FIELDS, context, info);
  return (templates ?? []).map(presentTemplate);
};

/** Mesh's `additionalResolvers`. */
export default {
  Void: new GraphQLScalarType({ name: 'Void', description: 'Always null.', serialize: () => null }),
  Query: {
    myself: async () => ({ serverlessDiscount: null }),
    endpoint: orNull(async (_root, { id }: { id: string }, context, info) => {
      const { endpoint } = await callCore<{ endpoint: CoreEndpoint }>(ENDPOINTS, 'GetEndpoint', { id }, ENDPOINT_FIELDS, context, info);
      return presentEndpoint(endpoint);
    }),
    podTemplate: orNull(async (_root, { id }: { id: string }, context, info) => readTemplate(id, context, info)),
    podTemplates,
  },
  Mutation: {
    saveEndpoint,
    updateEndpointTemplate,
    saveTemplate,
    deleteTemplate,
    deleteEndpoint: (async (_root, { id }, context, info) => {
      await callCore(ENDPOINTS, 'DeleteEndpoint', { id }, '{ __typename }', context, info);
      return null;
    }) as Resolver<{ id: string }>,
  },
  User: {
    endpoints: (async (_root, _args, context, info) => {
      const { endpoints } = await callCore<{ endpoints: CoreEndpoint[] | null }>(ENDPOINTS, 'ListEndpoints', {}, ENDPOINTS_FIELDS, context, info);
      return (endpoints ?? []).map(presentEndpoint);
    }) as Resolver<unknown>,
    podTemplates,
  },
  Endpoint: {
    template: (({ templateId }, _args, context, info) => readTemplate(templateId, context, info)) as Resolver<unknown, { templateId: string }>,
    pods: (async ({ id }, _args, context, info) => {
      const { workers } = await callCore<{ workers: { id: string; state: string }[] | null }>(
        'MachineService', 'ListWorkers', { endpointId: id }, '{ workers { id state } }', context, info);
      return (workers ?? []).map((worker) => ({ id: worker.id, desiredStatus: worker.state === 'WORKER_STATE_UNHEALTHY' ? 'EXITED' : 'RUNNING' }));
    }) as Resolver<unknown, { id: string }>,
  },
};

async function updateEndpoint(
  id: string, changes: object, mask: string[], context: GraphqlContext, info: GraphQLResolveInfo,
): Promise<ReturnType<typeof presentEndpoint>> {
  const request = { endpoint: { ...changes, id }, updateMask: { paths: mask } };
  const updated = await callCore<{ endpoint: CoreEndpoint }>(ENDPOINTS, 'UpdateEndpoint', request, ENDPOINT_FIELDS, context, info);
  return presentEndpoint(updated.endpoint);
}

async function readTemplate(id: string, context: GraphqlContext, info: GraphQLResolveInfo): Promise<ReturnType<typeof presentTemplate>> {
  const { template } = await callCore<{ template: CoreTemplate }>(TEMPLATES, 'GetTemplate', { id }, TEMPLATE_FIELDS, context, info);
  return presentTemplate(template);
}

/** A thing that does not exist is null, as clients expect of a query; every other failure stays one. */
function orNull<Args>(resolve: Resolver<Args>): Resolver<Args> {
  return async (root, args, context, info) => {
    try {
      return await resolve(root, args, context, info);
    } catch (error) {
      const { reason } = (error as { extensions?: { reason?: string } }).extensions ?? {};
      if (reason === 'ENDPOINT_NOT_FOUND' || reason === 'TEMPLATE_NOT_FOUND' || reason === 'NOT_FOUND') return null;
      throw error;
    }
  };
}

function translated<Value>(translate: () => Value): Value {
  try {
    return translate();
  } catch (error) {
    throw toGraphqlError(error);
  }
}
