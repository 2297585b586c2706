/** Converts endpoints of the contract to responses of REST v2. */

import type { GpuPool } from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootStandby, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';
import { presentContainer } from '../container/container-part.ts';
import { presentCpu } from '../container/cpu-size.ts';
import { takesIdleTimeout } from './endpoint-values.ts';
import { presentGpus } from './gpu-pools.ts';

/** Operations of queue-based endpoints, by their names in responses. */
const QUEUE_PATHS = {
  run: 'run',
  runSync: 'runsync',
  status: 'status/{job_id}',
  stream: 'stream/{job_id}',
  cancel: 'cancel/{job_id}',
  retry: 'retry/{job_id}',
  purgeQueue: 'purge-queue',
  health: 'health',
};
/** Default health path of workers of load-balancing endpoints. */
const HEALTH_PATH = 'ping';

/** Returns an endpoint for a response. */
export function presentEndpoint(endpoint: Endpoint | undefined, origin: string, pools: readonly GpuPool[]): object {
  if (endpoint === undefined) throw new CoreError('INTERNAL', 'core answered without an endpoint');
  const {
    id,
    name,
    computeType,
    instanceIds,
    locations,
    networkVolumeIds,
    modelReferences,
    executionTimeoutUnset,
    executionTimeoutMs,
    createTime,
  } = endpoint;
  const type = endpoint.type === EndpointType.LB ? 'LOAD_BALANCER' : 'QUEUE';
  const scaling = presentScaling(endpoint);
  const template = endpoint.template ?? Template.fromPartial({});
  return {
    id,
    name,
    ...presentContainer({ ...template, env: { ...template.env, ...endpoint.env } }),
    type,
    requestUrls: requestUrls(`${origin}/v2/${id}`, type),
    ...(computeType === 'CPU' ? { cpu: instanceIds.map(presentCpu) } : { gpu: presentGpus(endpoint, pools) }),
    workers: {
      min: endpoint.workersMin,
      max: endpoint.workersMax,
      ...(takesIdleTimeout(type, scaling.type) && { idleTimeout: endpoint.idleTimeoutSeconds }),
    },
    scaling,
    dataCenterIds: locations,
    networkVolumes: networkVolumeIds,
    model: modelReferences[0] ?? null,
    models: modelReferences,
    timeout: executionTimeoutUnset ? 0 : executionTimeoutMs,
    flashboot: presentFlashBoot(endpoint),
    flashbootStandby: STANDBYS[endpoint.flashBootStandby],
    openai: presentOpenai(endpoint),
    createdAt: createTime?.toISOString(),
  };
}

function presentScaling({ scalerType, scalerValue, queueDelayMs }: Endpoint): { type: string } {
  if (scalerType === ScalerType.REQUEST_COUNT)
    return { type: 'REQUEST_COUNT', requestCount: scalerValue } as { type: string };
  if (scalerType === ScalerType.SLO) return { type: 'SLO', queueDelay: scalerValue } as { type: string };
  return { type: 'QUEUE_DELAY', queueDelay: queueDelayMs > 0 ? queueDelayMs / 1_000 : scalerValue } as { type: string };
}

const STANDBYS: Readonly<Record<number, string>> = {
  [FlashBootStandby.AUTO]: 'AUTO',
  [FlashBootStandby.GPU]: 'GPU',
  [FlashBootStandby.HOST]: 'HOST',
};

function presentFlashBoot({ flashBootType, priorityFlashBoot }: Endpoint): string {
  if (flashBootType !== FlashBootType.FLASHBOOT) return 'OFF';
  return priorityFlashBoot ? 'PRIORITY_FLASHBOOT' : 'FLASHBOOT';
}

function presentOpenai({ modelAliases, modelWeight = 0, modelQueueMax = 0 }: Endpoint): object {
  return { aliases: modelAliases, weight: modelWeight, queueMax: modelQueueMax };
}

function requestUrls(base: string, type: string): Record<string, string> {
  if (type === 'LOAD_BALANCER') return { base, health: `${base}/${HEALTH_PATH}` };
  return Object.fromEntries(Object.entries(QUEUE_PATHS).map(([name, path]) => [name, `${base}/${path}`]));
}

/** Returns the address that a request came to. */
export function originOf({ host, headers }: Pick<FastifyRequest, 'host' | 'headers'>): string {
  return `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${host}`;
}
