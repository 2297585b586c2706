/** Presents a pod to programs, with the names of GET /v1/pods/{podId}, and to people. */

import { presentPod as presentRecord } from '@slipway/facades/resources/pods/present-pod';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Column, Field } from '../output/table.ts';
import { ago, commandLine, moment, variables } from '../output/words.ts';

/** Returns the record for programs: the REST API's, and the pod's current state. */
export function presentPod(pod: Pod) {
  const { consumerUserId: _consumerUserId, ...record } = presentRecord(pod, '');
  return { ...record, state: enumName(PodState, pod.state) };
}

/** Returns the columns of the list. */
export function podColumns(nowMs: number): Column<Pod>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'NAME', text: ({ name }) => name },
    { title: 'STATE', text: stateText },
    { title: 'MACHINE', text: ({ machine }) => machine?.name ?? '' },
    { title: 'GPUS', text: gpuText },
    { title: 'ENDPOINT', text: ({ endpointId }) => endpointId },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
  ];
}

/** Returns the fields of one pod. */
export function podFields(pod: Pod, nowMs: number): Field[] {
  return [
    ['id', pod.id],
    ['name', pod.name],
    ['state', stateText(pod)],
    ['said', pod.statusText],
    ['machine', pod.machine && `${pod.machine.name} (${pod.machine.id})`],
    ['GPUs', gpuText(pod)],
    ['size', pod.instanceId],
    ['endpoint', pod.endpointId],
    ['template', pod.templateId],
    ['image', pod.imageName],
    ['command', commandLine(pod.startCommand)],
    ['volume', pod.networkVolumeId],
    ['ports', pod.ports.join(', ')],
    ['reached at', pod.publishedPorts.map(({ port, host, publicPort }) => `${port}: ${host}:${publicPort}`).join(', ')],
    ['env', pod.endpointId === '' ? variables(pod.env) : undefined],
    ['cost', pod.costPerHour === 0 ? undefined : `${pod.costPerHour} USD an hour`],
    ['started', moment(pod.lastStartTime, nowMs)],
    ['created', moment(pod.createTime, nowMs)],
  ];
}

function stateText({ desiredStatus, state, locked }: Pod): string {
  const wanted = enumName(PodStatus, desiredStatus);
  const now = enumName(PodState, state);
  return `${now}${now === wanted ? '' : `, shall be ${wanted}`}${locked ? ', locked' : ''}`;
}

function gpuText({ gpuTypeId, gpuCount }: Pod): string {
  return gpuTypeId === '' ? '' : `${gpuCount} × ${gpuTypeId}`;
}
