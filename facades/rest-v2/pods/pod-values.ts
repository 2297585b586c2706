/** Pods between REST v2 and the contract. */
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { versionsFrom } from '../../resources/cuda-versions.ts';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import { containerFields, presentContainer } from '../container/container-part.ts';
import { instanceIdOf, presentCpu } from '../container/cpu-size.ts';
import { dataCenterOf } from '../container/data-center.ts';
import { mountFields, presentMounts } from '../container/mounts.ts';
import { against, misfit } from '../rejections.ts';
import type { ACTIONS, CreatePodBody, STATUSES, UpdatePodBody } from './pod-shapes.ts';

export type PodAction = (typeof ACTIONS)[number];
type Status = (typeof STATUSES)[number];

const SSH_PORT = 22;
const MIB_OF_GB = 1_024;

/** Returns the fields of a new pod. 400, 422: see the rules of docs/reference/management.md#rest-v2. */
export function newPod(body: CreatePodBody): Partial<Pod> {
  const { gpu, cpu, mounts = {} } = body;
  if (body.image === undefined && body.templateId === undefined)
    throw misfit(["$: missing property 'image', which templateId would give"]);
  if ((gpu === undefined) === (cpu === undefined)) throw against('Give exactly one of gpu and cpu.');
  if (gpu?.allowedCudaVersions?.length && gpu.minCudaVersion)
    throw against('gpu.allowedCudaVersions and gpu.minCudaVersion exclude each other: give one.');
  return fieldsOf({
    ...containerFields(body),
    ...mountFields(mounts),
    name: body.name,
    templateId: body.templateId,
    locations: body.dataCenterIds,
    ...(gpu && { computeType: 'GPU', gpuIds: [gpu.id], gpuCount: gpu.count ?? 1 }),
    ...(cpu && { computeType: 'CPU', instanceIds: [instanceIdOf(cpu)] }),
    allowedCudaVersions: gpu?.minCudaVersion ? versionsFrom(gpu.minCudaVersion) : gpu?.allowedCudaVersions,
  }).changes;
}

/** Returns what the machine of a new pod must have at least. */
export function hostMinimum({ gpu }: CreatePodBody): { minMemoryGb: number; minCpuCount: number } {
  const { count = 1, minRamPerGpu = 0, minVcpuCountPerGpu = 0 } = gpu ?? {};
  return { minMemoryGb: minRamPerGpu * count, minCpuCount: minVcpuCountPerGpu * count };
}

/** Returns the fields that a change names. */
export function changedPod(body: UpdatePodBody): FieldChanges<Pod> {
  const mounted = body.mounts && mountFields(body.mounts);
  return fieldsOf({
    ...containerFields(body),
    ...mounted,
    name: body.name,
    locked: body.locked,
    templateId: body.templateId || undefined,
  });
}

function fieldsOf(given: { [Name in keyof Pod]?: Pod[Name] | undefined }): FieldChanges<Pod> {
  const fields = noChanges<Pod>();
  for (const [field, value] of Object.entries(given)) change(fields, field as keyof Pod & string, value as never);
  return fields;
}

const ALLOWED: Readonly<Record<Status, readonly PodAction[]>> = {
  RUNNING: ['stop', 'restart', 'terminate'],
  EXITED: ['start', 'terminate'],
  ERROR: ['start', 'terminate'],
  PROVISIONING: ['stop', 'terminate'],
  STARTING: ['stop', 'terminate'],
  TERMINATED: [],
};

/**
 * Returns the actions that a pod allows. A pod whose desired state is EXITED can be started, even if it has not stopped
 * yet.
 */
export function actionsOf(pod: Pod): readonly PodAction[] {
  const actions = ALLOWED[pod.desiredStatus === PodStatus.EXITED ? 'EXITED' : statusOf(pod)];
  return pod.locked ? actions.filter((action) => action === 'start') : actions;
}

/** Returns the status of a pod. */
export function statusOf({ state, desiredStatus, statusText }: Pod): Status {
  switch (state) {
    case PodState.RUNNING:
      return 'RUNNING';
    case PodState.EXITED:
      return desiredStatus === PodStatus.RUNNING ? 'PROVISIONING' : 'EXITED';
    case PodState.FAILED:
      return 'ERROR';
    default:
      if (desiredStatus === PodStatus.EXITED) return 'EXITED';
      return statusText === '' ? 'PROVISIONING' : 'STARTING';
  }
}

/** Returns a pod for a response. */
export function presentPod(pod: Pod, nowMs: number): object {
  const status = statusOf(pod);
  const { id, name, machine, computeType, instanceId, lastStartTime, createTime, stateChangeTime } = pod;
  return {
    id,
    name,
    ...presentContainer(pod),
    status,
    actions: actionsOf(pod),
    mounts: presentMounts(pod),
    ...(computeType === 'CPU'
      ? {}
      : {
          gpu: {
            id: pod.gpuTypeId || (pod.gpuIds[0] ?? ''),
            count: pod.gpuCount,
            vcpuCount: machine?.cpuCount ?? 0,
            memory: Math.round((machine?.memoryMib ?? 0) / MIB_OF_GB),
          },
        }),
    ...(instanceId === '' ? {} : { cpu: presentCpu(instanceId) }),
    cloud: 'SECURE',
    dataCenterId: dataCenterOf(machine),
    cudaVersion: machine?.cudaVersion || null,
    ssh: { proxy: null, direct: directSsh(pod) },
    template: pod.templateId || null,
    cost: pod.costPerHour,
    locked: pod.locked,
    globalNetworking: { enabled: false },
    runtime: status === 'RUNNING' ? runtimeOf(pod, nowMs - (stateChangeTime?.getTime() ?? nowMs)) : null,
    createdAt: createTime?.toISOString(),
    startedAt: lastStartTime?.toISOString() ?? null,
  };
}

/** Returns where the pod's SSH server is reached, null if port 22 is not published. */
function directSsh({ publishedPorts }: Pod): object | null {
  const found = publishedPorts.find(({ port }) => port === SSH_PORT);
  if (!found) return null;
  const { host, publicPort } = found;
  return { host, port: publicPort, username: 'root', command: `ssh root@${host} -p ${publicPort}` };
}

function runtimeOf({ ports, publishedPorts }: Pod, runsMs: number): object {
  const published = new Map(publishedPorts.map((each) => [each.port, each]));
  const listed = ports.map((text) => {
    const [number, type] = text.split('/');
    const found = type === 'tcp' ? published.get(Number(number)) : undefined;
    return { private: Number(number), public: found?.publicPort ?? null, type, ip: found?.host ?? null };
  });
  return { uptime: Math.max(0, Math.floor(runsMs / 1_000)), gpus: [], cpu: {}, memory: {}, ports: listed };
}
