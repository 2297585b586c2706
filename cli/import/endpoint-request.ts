/** Endpoints of the source as requests of their creation here. */

import { checkFits } from '@slipway/facades/rest-v2/fits';
import type { CreateEndpointBody } from '@slipway/facades/rest-v2/serverless/endpoint-shapes';
import { CreateEndpoint, EndpointShape } from '@slipway/facades/rest-v2/serverless/endpoint-shapes';
import { newEndpoint } from '@slipway/facades/rest-v2/serverless/endpoint-values';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { CreateEndpointRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { containerOf, envOf, pick, unknownMembers } from './container-body.ts';
import { envNotes, missingSecrets } from './env-notes.ts';
import { gpuNotes, unknownGpus } from './gpu-notes.ts';
import type { ImportContext } from './import-context.ts';
import { referenceTo, WaitingError } from './import-context.ts';
import { linkedTemplate } from './linked-template.ts';
import type { SourceRow } from './source/source-lists.ts';
import { recordOf, textsOf } from './source/source-lists.ts';

/** Form of the ids of endpoints, here and at the source. */
const ID_FORM = /^[a-z0-9]{14}$/;

/** Returns the body of REST v2 with the ids of this account. Throws WaitingError if it cannot be created here. */
export function endpointBody(row: SourceRow, context: ImportContext, notes: string[]): Record<string, unknown> {
  const { fields } = row;
  return {
    name: row.name,
    ...containerOf(row, context),
    ...pick(fields, ['type', 'scaling', 'timeout', 'flashboot', 'flashbootStandby', 'openai']),
    workers: pick(recordOf(fields['workers']) ?? {}, ['min', 'max', 'idleTimeout']),
    ...hardwareOf(fields, context, notes),
    dataCenterIds: locationsOf(fields, context, notes),
    networkVolumes: textsOf(fields['networkVolumes']).map((id) => referenceTo(context, 'volumes', id)),
  };
}

/** Returns the request, without its key, and notes for people. Throws if the endpoint cannot be created here. */
export function endpointRequest(
  row: SourceRow,
  context: ImportContext,
): { request: CreateEndpointRequest; notes: string[] } {
  const notes: string[] = [];
  const body = endpointBody(row, context, notes);
  checkFits(CreateEndpoint, body);
  const { changes, ownTemplate } = newEndpoint(body as unknown as CreateEndpointBody, context.target.pools);
  const extras = context.extras?.get(row.id);
  const { retryLimit, ...settings } = extras?.settings ?? {};
  const link = linkedTemplate(row, context);
  const endpoint = Endpoint.fromPartial({
    ...changes,
    ...(link && { templateId: link.id, env: link.env }),
    ...settings,
    modelReferences: extras?.modelReferences ?? modelsOf(row),
  });
  const request = {
    endpoint,
    requestId: '',
    workersMax: changes.workersMax,
    retryLimit,
    ownTemplate: link ? undefined : ownTemplate,
    wantedId: ID_FORM.test(row.id) ? row.id : undefined,
  };
  return { request, notes: [...notes, ...notesOf(row, context), ...(extras?.origins ?? [])] };
}

function notesOf(row: SourceRow, { origin, target }: ImportContext): string[] {
  const env = envOf(row);
  const missing = missingSecrets(row, target);
  return [
    ...(missing.length > 0 ? [`its workers start once these secrets are set: ${missing.join(', ')}`] : []),
    ...(row.fields['type'] === 'LOAD_BALANCER' ? ['balances load: its clients call another host name here'] : []),
    ...unknownMembers(row, [...Object.keys(CreateEndpoint.properties), ...Object.keys(EndpointShape.properties)]),
    ...envNotes(env, origin),
  ];
}

/** Returns the models that REST v2 names, for a source without GraphQL. */
export function modelsOf({ fields: { model, models } }: SourceRow): string[] {
  return models === undefined ? textsOf([model]) : textsOf(models);
}

/** Returns the GPUs or sizes of a worker. */
function hardwareOf(
  fields: SourceRow['fields'],
  { target, mapping }: ImportContext,
  notes: string[],
): Record<string, unknown> {
  const sizes = fields['cpu'];
  if (Array.isArray(sizes)) return { cpu: sizes.map((size) => pick(recordOf(size) ?? {}, ['id', 'vcpuCount'])) };
  const gpu = pick(recordOf(fields['gpu']) ?? {}, [
    'pools',
    'excludedTypes',
    'count',
    'allowedCudaVersions',
    'minCudaVersion',
  ]);
  const pools = [...new Set(textsOf(gpu['pools']).map((name) => mapping[name] ?? name))];
  const unknown = unknownGpus(pools, target);
  if (unknown.length > 0)
    throw new WaitingError(
      `chooses GPUs that are not known here: ${unknown.join(', ')}; name others with --map "${unknown[0]}=POOL"`,
    );
  const types = new Set(pools.flatMap((name) => target.pools.find(({ id }) => id === name)?.gpuTypeIds ?? [name]));
  // A type that is in none of the pools here is left out anyway.
  const excludedTypes = textsOf(gpu['excludedTypes']).filter((type) => types.has(type.trim()));
  const count = typeof gpu['count'] === 'number' ? gpu['count'] : 1;
  notes.push(...gpuNotes({ pools, excludedTypes, count }, target));
  // The source shows an empty list beside a lowest version.
  if (textsOf(gpu['allowedCudaVersions']).length === 0) delete gpu['allowedCudaVersions'];
  return { gpu: { ...gpu, pools, excludedTypes } };
}

/** Returns the data centres that exist here. With an unknown one the endpoint could run nowhere. */
function locationsOf(fields: SourceRow['fields'], { target, mapping }: ImportContext, notes: string[]): string[] {
  const named = textsOf(fields['dataCenterIds']);
  const known = new Set(named.flatMap((id) => mapping[id] ?? (target.locations.has(id) ? id : [])));
  const dropped = named.filter((id) => mapping[id] === undefined && !target.locations.has(id));
  if (dropped.length > 0)
    notes.push(`data centres left out: ${dropped.join(', ')}${known.size === 0 ? ', so it runs anywhere here' : ''}`);
  return [...known];
}
