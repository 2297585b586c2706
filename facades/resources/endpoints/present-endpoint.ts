/** Contract endpoint to public record. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndedWorkers } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { CoreError } from '@slipway/proto/wire/reason';
import { lowestVersion } from '../cuda-versions.ts';
import { presentPod } from '../pods/present-pod.ts';
import { restRecord } from '../rest-values.ts';
import { presentTemplate } from '../templates/present-template.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { ENDPOINT } from './endpoint-table.ts';
import { presentEndedWorkers } from './present-ended-workers.ts';

/** Related records that are shown with an endpoint on request. */
export interface EndpointRelations {
  workers?: readonly Pod[] | undefined;
  /** Only sent with `workers`. */
  ended?: readonly EndedWorkers[] | undefined;
}

/** Returns the public record. */
export function presentEndpoint(
  endpoint: Endpoint | undefined,
  accountId: string,
  relations: EndpointRelations = {},
): EndpointRecord {
  if (endpoint === undefined) throw new CoreError('INTERNAL', 'core answered without an endpoint');
  const [networkVolumeId] = endpoint.networkVolumeIds;
  const minCudaVersion = lowestVersion(endpoint.allowedCudaVersions);
  const { template } = endpoint;
  const { workers, ended = [] } = relations;
  return {
    id: endpoint.id,
    ...restRecord(ENDPOINT, { ...endpoint, modelWeight: endpoint.modelWeight ?? ENDPOINT.modelWeight.rule.default }),
    ...(template === undefined ? {} : { template: presentTemplate(template) }),
    userId: accountId,
    version: endpoint.version,
    ...(endpoint.createTime === undefined ? {} : { createdAt: endpoint.createTime.toISOString() }),
    ...(minCudaVersion === null ? {} : { minCudaVersion }),
    ...(networkVolumeId === undefined ? {} : { networkVolumeId }),
    workersStandby: endpoint.workersMin,
    ...(endpoint.throttledReason === '' ? {} : { throttledReason: endpoint.throttledReason }),
    ...(endpoint.cannotRunReason === '' ? {} : { cannotRunReason: endpoint.cannotRunReason }),
    ...(endpoint.flashBootStandbyReason === '' ? {} : { flashBootStandbyReason: endpoint.flashBootStandbyReason }),
    ...presentRollout(endpoint),
    ...(workers === undefined
      ? {}
      : {
          workers: workers.map((worker) => presentPod(worker, accountId)),
          endedWorkers: ended.map(presentEndedWorkers),
        }),
  };
}

function presentRollout({ rolloutState, rolloutReason, servingVersion }: Endpoint) {
  return rolloutState === '' ? {} : { rolloutState, rolloutReason, servingVersion };
}
