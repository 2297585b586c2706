/**
 * Converts contract pods to the public schema's fields. Zero and empty values are absent on the wire, so each field has
 * its default here.
 */

import type { GpuMove } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { sizeOf } from '../../resources/cpu-sizes.ts';
import { POD } from '../../resources/pods/pod-table.ts';
import { statusChange } from '../../resources/pods/status-change.ts';
import { LEVELS } from '../../resources/pods/worker-memory.ts';
import { countVariables } from '../answer-variables.ts';
import type { GraphqlContext } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { numberOf, timeMsOf, timeTextOf } from '../core-message.ts';
import { textOf } from '../list-text.ts';
import { shownFields } from '../table-fields.ts';

type Presented = ReturnType<typeof presentPod>;

/** Form of a country code: two capital letters. Every other location of a machine is a data centre. */
const COUNTRY_CODE = /^[A-Z]{2}$/;
const MIB_PER_GB = 1_024;

/** Returns a pod of the public schema. `nowMs`: wall clock in milliseconds. */
export function presentPod(pod: CoreMessage<Pod>, nowMs: number) {
  const stopped = pod.desiredStatus === PodStatus.EXITED;
  const startedMs = timeMsOf(pod.lastStartTime);
  const uptimeSeconds = stopped || startedMs === undefined ? 0 : Math.max(0, Math.floor((nowMs - startedMs) / 1_000));
  const cost = numberOf(pod.costPerHour);
  const workerOf = pod.endpointId || null;
  const size = sizeOf(pod.instanceId ?? '');
  return {
    id: pod.id ?? '',
    ...shownFields(POD, pod),
    desiredStatus: stopped ? 'EXITED' : 'RUNNING',
    endpointId: workerOf,
    ...memoryOf(pod),
    // The environment of an endpoint's workers is not for everyone who may list pods.
    env:
      workerOf === null
        ? Object.entries(pod.env ?? {})
            .sort()
            .map(([key, value]) => `${key}=${value}`)
        : [],
    podType: pod.interruptible ? 'INTERRUPTABLE' : 'RESERVED',
    vcpuCount: size?.vcpuCount ?? (numberOf(pod.machine?.cpuCount) || null),
    memoryInGb: size?.memoryInGb ?? (Math.floor(numberOf(pod.machine?.memoryMib) / MIB_PER_GB) || null),
    costPerHr: cost,
    adjustedCostPerHr: cost,
    lastStatusChange: statusChange(pod.statusText ?? '', numberOf(pod.state), timeTextOf(pod.stateChangeTime)),
    lastStartedAt: timeTextOf(pod.lastStartTime),
    createdAt: timeTextOf(pod.createTime),
    uptimeSeconds,
    machineId: pod.machine?.id ?? null,
    machine: machineOf(pod),
    runtime: pod.state === PodState.RUNNING ? { uptimeInSeconds: uptimeSeconds, ports: portsOf(pod) } : null,
  };
}

/**
 * Returns pods of the public schema. With variables, each is a promise that resolves in a separate tick, as templates
 * are (`presentTemplates`). Throws INVALID_REQUEST if the answer has too many variables.
 */
export function presentPods(
  pods: readonly CoreMessage<Pod>[],
  context: Pick<GraphqlContext, 'nowMs' | 'selectsEnv' | 'turn' | 'variables'>,
): (Presented | Promise<Presented>)[] {
  for (const { endpointId, env } of pods) if (!endpointId) countVariables(context, env);
  const present = (pod: CoreMessage<Pod>): Presented => presentPod(pod, context.nowMs);
  if (!context.selectsEnv) return pods.map(present);
  return pods.map((pod) => context.turn().then(() => present(pod)));
}

function portsOf({ publishedPorts = [] }: CoreMessage<Pod>) {
  return publishedPorts.map(({ port, host, publicPort }) => ({
    ip: host ?? null,
    isIpPublic: true,
    privatePort: numberOf(port),
    publicPort: numberOf(publicPort),
    type: 'tcp',
  }));
}

/** Returns the GPU memory of a worker. */
function memoryOf({ standbyLevel, gpuMemoryBytes, lastOffload, lastRestore }: CoreMessage<Pod>) {
  return {
    standbyLevel: LEVELS[numberOf(standbyLevel)] ?? null,
    gpuMemoryBytes: numberOf(gpuMemoryBytes) || null,
    lastOffload: moveOf(lastOffload),
    lastRestore: moveOf(lastRestore),
  };
}

function moveOf(move: CoreMessage<GpuMove> | undefined) {
  return move ? { bytes: numberOf(move.bytes), durationMs: numberOf(move.durationMs) } : null;
}

/** Returns the present cost in US dollars per hour. */
export function costPerHour(pod: CoreMessage<Pod>): number {
  return pod.desiredStatus === PodStatus.EXITED ? 0 : numberOf(pod.costPerHour);
}

function machineOf({ machine, gpuTypeId, gpuDisplayName }: CoreMessage<Pod>) {
  if (!machine) return null;
  const places = (machine.locations ?? []).filter((place) => place !== '*');
  return {
    id: machine.id ?? null,
    podHostId: machine.id ?? null,
    gpuDisplayName: gpuDisplayName || null,
    gpuTypeId: gpuTypeId || null,
    location: textOf(places),
    dataCenterId: places.find((place) => !COUNTRY_CODE.test(place)) ?? null,
  };
}
