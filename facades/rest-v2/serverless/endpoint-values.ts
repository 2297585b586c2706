/** Bodies of endpoints in REST v2 to the contract. */

import type { GpuPool } from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootStandby, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import { containerFields } from '../container/container-part.ts';
import { instanceIdOf } from '../container/cpu-size.ts';
import { against, misfit } from '../rejections.ts';
import type { CreateEndpointBody, UpdateEndpointBody } from './endpoint-shapes.ts';
import { WORKER_DEFAULTS } from './endpoint-shapes.ts';
import { gpuFields } from './gpu-pools.ts';

/** Parts of a request to core. */
interface EndpointChanges extends FieldChanges<Endpoint> {
  /** `undefined` if the body does not name a container. */
  ownTemplate: OwnTemplate | undefined;
}

/**
 * Returns the endpoint to create, with the defaults of REST v2. Throws 400 or 422 by the rules of
 * docs/reference/management.md#rest-v2.
 */
export function newEndpoint(body: CreateEndpointBody, pools: readonly GpuPool[]): EndpointChanges {
  const { gpu, cpu, type, scaling, workers = {}, timeout = 0 } = body;
  if (body.image === undefined && body.templateId === undefined)
    throw misfit(["$: missing property 'image', which templateId would give"]);
  if ((gpu === undefined) === (cpu === undefined)) throw against('Give exactly one of gpu and cpu.');
  checkIdleTimeout(workers.idleTimeout, type, scaling.type);
  const { idleTimeout, ...counts } = WORKER_DEFAULTS;
  const idle = takesIdleTimeout(type, scaling.type) ? { idleTimeout } : {};
  const fields = endpointFields({ ...body, workers: { ...counts, ...idle, ...workers }, timeout }, pools);
  change(fields, 'type', type === 'QUEUE' ? EndpointType.QB : EndpointType.LB);
  change(fields, 'computeType', cpu ? 'CPU' : 'GPU');
  return { ...fields, ownTemplate: fields.ownTemplate ?? { template: undefined, updateMask: [], fromTemplateId: '' } };
}

/** Returns the changes of an endpoint. `before`: its current state. Throws 400 or 422 as above. */
export function changedEndpoint(
  body: UpdateEndpointBody,
  before: Endpoint,
  pools: readonly GpuPool[],
): EndpointChanges {
  checkCompute(body, before.computeType);
  const scaling = body.scaling?.type ?? SCALINGS[before.scalerType] ?? 'QUEUE_DELAY';
  checkIdleTimeout(body.workers?.idleTimeout, before.type === EndpointType.LB ? 'LOAD_BALANCER' : 'QUEUE', scaling);
  return endpointFields(body, pools);
}

/** Throws 400 if a change names the other kind of workers: what they are is fixed at the creation. */
function checkCompute({ gpu, cpu }: UpdateEndpointBody, computeType: string): void {
  if (gpu && cpu) throw against('Give exactly one of gpu and cpu.');
  const other = 'or create another endpoint.';
  if (gpu && computeType === 'CPU')
    throw against(`gpu: the workers of this endpoint have no GPU; change cpu, ${other}`);
  if (cpu && computeType !== 'CPU') throw against(`cpu: the workers of this endpoint have GPUs; change gpu, ${other}`);
}

const SCALINGS: Readonly<Record<number, string>> = {
  [ScalerType.QUEUE_DELAY]: 'QUEUE_DELAY',
  [ScalerType.REQUEST_COUNT]: 'REQUEST_COUNT',
  [ScalerType.SLO]: 'SLO',
};

function endpointFields(body: UpdateEndpointBody, pools: readonly GpuPool[]): EndpointChanges {
  const { workers, flashboot, flashbootStandby, timeout, gpu, cpu } = body;
  const fields = noChanges<Endpoint>();
  const given: { [Name in keyof Endpoint]?: Endpoint[Name] | undefined } = {
    name: body.name,
    ...(gpu && gpuFields(gpu, pools)),
    instanceIds: cpu?.map(instanceIdOf),
    workersMin: workers?.min,
    workersMax: workers?.max,
    idleTimeoutSeconds: workers?.idleTimeout,
    ...scalingFields(body.scaling),
    executionTimeoutMs: timeout || undefined,
    executionTimeoutUnset: timeout === undefined ? undefined : timeout === 0,
    flashBootType: flashboot && (flashboot === 'OFF' ? FlashBootType.OFF : FlashBootType.FLASHBOOT),
    flashBootStandby: flashbootStandby && FlashBootStandby[flashbootStandby],
    priorityFlashBoot: flashboot && flashboot === 'PRIORITY_FLASHBOOT',
    locations: body.dataCenterIds,
    networkVolumeIds: body.networkVolumes,
    modelAliases: body.openai?.aliases,
    modelWeight: body.openai?.weight,
    modelQueueMax: body.openai?.queueMax,
    modelReferences: modelsOf(body),
  };
  for (const [field, value] of Object.entries(given)) change(fields, field as keyof Endpoint & string, value as never);
  return { ...fields, ownTemplate: ownTemplateOf(body) };
}

/** Returns the models that a body names, `undefined` if none. Throws 400 if it names them twice. */
function modelsOf({ model, models }: UpdateEndpointBody): string[] | undefined {
  if (model !== undefined && models !== undefined) throw against('Give one of model and models.');
  if (model === undefined) return models;
  return model === null ? [] : [model];
}

function ownTemplateOf(body: UpdateEndpointBody): OwnTemplate | undefined {
  const container = noChanges<Template>();
  for (const [field, value] of Object.entries(containerFields(body)))
    change(container, field as keyof Template & string, value as never);
  const { templateId: fromTemplateId = '' } = body;
  if (container.mask.length === 0 && fromTemplateId === '') return undefined;
  return { template: Template.fromPartial(container.changes), updateMask: container.mask, fromTemplateId };
}

/** Returns the scaling fields. The contract has whole seconds, and milliseconds in a separate field. */
function scalingFields(scaling: UpdateEndpointBody['scaling']): Partial<Endpoint> {
  if (!scaling) return {};
  if (scaling.type === 'REQUEST_COUNT')
    return { scalerType: ScalerType.REQUEST_COUNT, scalerValue: scaling.requestCount, queueDelayMs: 0 };
  const { queueDelay } = scaling;
  if (scaling.type === 'SLO') return { scalerType: ScalerType.SLO, scalerValue: queueDelay, queueDelayMs: 0 };
  const isWhole = Number.isInteger(queueDelay);
  return {
    scalerType: ScalerType.QUEUE_DELAY,
    scalerValue: Math.ceil(queueDelay),
    queueDelayMs: isWhole ? 0 : Math.round(queueDelay * 1_000),
  };
}

/** Returns whether idle workers stop after a time. Queue workers that follow the number of jobs stop with the jobs. */
export function takesIdleTimeout(type: string, scaling: string): boolean {
  return type !== 'QUEUE' || scaling !== 'REQUEST_COUNT';
}

function checkIdleTimeout(idleTimeout: number | undefined, type: string, scaling: string): void {
  if (idleTimeout === undefined || takesIdleTimeout(type, scaling)) return;
  throw misfit(['$.workers.idleTimeout: not allowed with type QUEUE and scaling REQUEST_COUNT']);
}
