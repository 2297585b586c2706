/** An endpoint for programs, with the names of GET /v1/endpoints/{endpointId}, and for people. */
import { EndpointType, FlashBootType, ScalerType } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { Column, Field } from '../output/table.ts';
import { ago, count, moment, nameOf, roughly, variables } from '../output/words.ts';

/** The record for programs. The last three are in no answer of the REST API. */
export function presentEndpoint(endpoint: Endpoint) {
  const [networkVolumeId] = endpoint.networkVolumeIds;
  return {
    id: endpoint.id,
    name: endpoint.name,
    templateId: endpoint.templateId,
    version: endpoint.version,
    createdAt: endpoint.createTime?.toISOString(),
    type: nameOf(EndpointType, endpoint.type),
    computeType: endpoint.computeType,
    gpuTypeIds: endpoint.gpuIds,
    gpuCount: endpoint.gpuCount,
    allowedCudaVersions: endpoint.allowedCudaVersions,
    dataCenterIds: endpoint.locations,
    env: endpoint.env,
    executionTimeoutMs: endpoint.executionTimeoutMs,
    flashboot: endpoint.flashBootType === FlashBootType.FLASHBOOT,
    idleTimeout: endpoint.idleTimeoutSeconds,
    ...(networkVolumeId === undefined ? {} : { networkVolumeId }),
    networkVolumeIds: endpoint.networkVolumeIds,
    scalerType: nameOf(ScalerType, endpoint.scalerType),
    scalerValue: endpoint.scalerValue,
    workersMin: endpoint.workersMin,
    workersMax: endpoint.workersMax,
    retryLimit: endpoint.retryLimit,
    retryHandlerErrors: endpoint.retryHandlerErrors,
    workerConcurrency: endpoint.workerConcurrency,
  };
}

/** Columns of the list. */
export function endpointColumns(nowMs: number): Column<Endpoint>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'TYPE', text: ({ type }) => nameOf(EndpointType, type) },
    { title: 'WORKERS', text: ({ workersMin, workersMax }) => `${workersMin}–${workersMax}` },
    { title: 'RUNS ON', text: runsOn },
    { title: 'TEMPLATE', text: ({ templateId }) => templateId },
    { title: 'VERSION', text: ({ version }) => String(version), right: true },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
  ];
}

/** Fields of one endpoint. */
export function endpointFields(endpoint: Endpoint, nowMs: number): Field[] {
  const { workersMin, workersMax, idleTimeoutSeconds, scalerType, scalerValue, retryLimit, retryHandlerErrors } = endpoint;
  return [
    ['id', endpoint.id],
    ['name', endpoint.name],
    ['type', nameOf(EndpointType, endpoint.type)],
    ['template', endpoint.templateId],
    ['runs on', runsOn(endpoint)],
    ['locations', endpoint.locations.join(', ')],
    ['volumes', endpoint.networkVolumeIds.join(', ')],
    ['CUDA', endpoint.allowedCudaVersions.join(', ')],
    ['workers', `${workersMin} to ${workersMax}, stopped after ${idleTimeoutSeconds} s without a job`],
    ['scaler', `${nameOf(ScalerType, scalerType)} ${scalerValue}`],
    ['flashboot', endpoint.flashBootType === FlashBootType.FLASHBOOT ? 'on' : ''],
    ['jobs', `at most ${roughly(endpoint.executionTimeoutMs)} each, ${endpoint.workerConcurrency} at once on a worker`],
    ['retries', `${count(retryLimit, 'time')} after a lost worker${retryHandlerErrors ? ', also after errors of the handler' : ''}`],
    ['env', variables(endpoint.env)],
    ['version', endpoint.version],
    ['created', moment(endpoint.createTime, nowMs)],
  ];
}

function runsOn({ gpuIds, gpuCount, computeType }: Endpoint): string {
  if (gpuIds.length > 0) return `${gpuCount} × ${gpuIds.join(' or ')}`;
  return computeType === 'CPU' ? 'machines without a GPU' : 'any machine';
}
