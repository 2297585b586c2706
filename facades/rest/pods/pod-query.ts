/** Queries of pod reads (docs/reference/management.md#lists): what to include and what to leave out. */

import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { Static } from 'typebox';
import { Type } from 'typebox';
import { sizeOf } from '../../resources/cpu-sizes.ts';
import { oneOf } from '../../resources/one-of.ts';
import { desiredStatusOf } from '../../resources/pods/desired-status.ts';
import { anyOf, include, only } from '../filter.ts';

/** Query of GET /pods/{podId}. */
export const PodQuery = Type.Object({
  includeMachine: include('Adds its machine.'),
  includeNetworkVolume: include('Adds its network volume.'),
  includeSavingsPlans: include('Accepted without effect: there are no savings plans.'),
  includeTemplate: include('Adds its template.'),
  includeWorkers: include('Accepted without effect: workers can always be read.'),
});
export type PodQuery = Static<typeof PodQuery>;

/** Query of GET /pods. */
export const PodsQuery = Type.Object({
  ...PodQuery.properties,
  includeWorkers: include('Adds the workers of endpoints.'),
  computeType: Type.Optional(oneOf(['GPU', 'CPU'], 'Only pods with a GPU, or without.')),
  cpuFlavorId: anyOf('pods of these CPU flavours'),
  dataCenterId: anyOf('these data centres'),
  desiredStatus: Type.Optional(oneOf(['RUNNING', 'EXITED', 'TERMINATED'], 'Only pods that shall be so.')),
  endpointId: only('the workers of this endpoint'),
  gpuTypeId: anyOf('these GPU types'),
  id: only('this pod'),
  imageName: only('pods of this image'),
  name: only('pods of this name'),
  networkVolumeId: only('pods with this network volume'),
  templateId: only('pods of this template'),
});
export type PodsQuery = Static<typeof PodsQuery>;

/** Returns whether a pod matches a query. */
export function fits(pod: Pod, query: PodsQuery): boolean {
  const texts: [wanted: string | undefined, is: string][] = [
    [query.id, pod.id],
    [query.name, pod.name],
    [query.imageName, pod.imageName],
    [query.templateId, pod.templateId],
    [query.networkVolumeId, pod.networkVolumeId],
    [query.endpointId, pod.endpointId],
    [query.computeType, pod.computeType === 'CPU' ? 'CPU' : 'GPU'],
    [query.desiredStatus, desiredStatusOf(pod)],
  ];
  const lists: [wanted: readonly string[] | undefined, are: readonly string[]][] = [
    [query.cpuFlavorId, [sizeOf(pod.instanceId)?.flavor ?? '']],
    [query.gpuTypeId, [pod.gpuTypeId]],
    [query.dataCenterId, pod.machine?.locations ?? []],
  ];
  return (
    texts.every(([wanted, is]) => wanted === undefined || wanted === is) &&
    lists.every(([wanted, are]) => wanted === undefined || wanted.some((one) => are.includes(one)))
  );
}

/** Path of one pod. */
export const PodPath = Type.Object({ podId: Type.String({ description: 'Id of the pod.' }) });
