/** Presents an endpoint to programs, with the names of GET /v1/endpoints/{endpointId}, and to people. */

import { ENDPOINT } from '@slipway/facades/resources/endpoints/endpoint-table';
import { presentEndpoint as presentRecord } from '@slipway/facades/resources/endpoints/present-endpoint';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { EndpointType, FlashBootStandby, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Column, Field } from '../output/table.ts';
import { ago, count, moment, roughly } from '../output/words.ts';
import { tableRows } from '../table-options.ts';

/** Returns the record for programs: the REST API's without the account. */
export function presentEndpoint(endpoint: Endpoint) {
  const { userId: _userId, ...record } = presentRecord(endpoint, '');
  return record;
}

/** Returns the columns of the list. */
export function endpointColumns(nowMs: number): Column<Endpoint>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'TYPE', text: ({ type }) => enumName(EndpointType, type) },
    { title: 'WORKERS', text: ({ workersMin, workersMax }) => `${workersMin}–${workersMax}` },
    { title: 'RUNS ON', text: runsOn },
    { title: 'TEMPLATE', text: ({ templateId }) => templateId },
    { title: 'VERSION', text: ({ version }) => String(version), right: true },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
  ];
}

/** Returns the fields of one endpoint. */
export function endpointFields(endpoint: Endpoint, nowMs: number): Field[] {
  const { workersMin, workersMax, idleTimeoutSeconds, scalerType, scalerValue } = endpoint;
  return [
    ['id', endpoint.id],
    ['name', endpoint.name],
    ['type', enumName(EndpointType, endpoint.type)],
    ['template', endpoint.templateId],
    ['runs on', runsOn(endpoint)],
    ['locations', endpoint.locations.join(', ')],
    ['volumes', endpoint.networkVolumeIds.join(', ')],
    ['CUDA', endpoint.allowedCudaVersions.join(', ')],
    [
      'workers',
      `${workersMin} to ${workersMax}, stopped after ${idleTimeoutSeconds} s without a ` +
        `${endpoint.type === EndpointType.LB ? 'request' : 'job'}`,
    ],
    ['throttled', endpoint.throttledReason],
    ['cannot run', endpoint.cannotRunReason],
    ['scaler', `${enumName(ScalerType, scalerType)} ${scalerValue}`],
    ['flashboot', flashBootText(endpoint)],
    ['no offload', endpoint.flashBootStandbyReason],
    ...workFields(endpoint),
    ...tableRows(ENDPOINT, endpoint),
    ['version', endpoint.version],
    ['release', endpoint.rolloutReason],
    ['created', moment(endpoint.createTime, nowMs)],
  ];
}

function flashBootText({ flashBootType, flashBootStandby }: Endpoint): string {
  if (flashBootType !== FlashBootType.FLASHBOOT) return '';
  return flashBootStandby === FlashBootStandby.AUTO
    ? 'on'
    : `on, standby ${enumName(FlashBootStandby, flashBootStandby)}`;
}

/** Returns the fields about requests or jobs. */
function workFields({
  type,
  workerConcurrency,
  executionTimeoutMs,
  retryLimit,
  retryHandlerErrors,
}: Endpoint): Field[] {
  if (type === EndpointType.LB) return [['requests', `${workerConcurrency} at once on a worker; never sent twice`]];
  return [
    ['jobs', `at most ${roughly(executionTimeoutMs)} each, ${workerConcurrency} at once on a worker`],
    [
      'retries',
      `${count(retryLimit, 'time')} after a lost ` +
        `worker${retryHandlerErrors ? ', also after errors of the handler' : ''}`,
    ],
  ];
}

function runsOn({ gpuIds, gpuCount, computeType, instanceIds }: Endpoint): string {
  if (computeType === 'CPU') return instanceIds.join(' or ') || 'processors';
  return gpuCount === 0 ? 'any machine' : `${gpuCount} × ${gpuIds.join(' or ') || 'any GPU'}`;
}
