/** Converts machines and workers for people. */

import type {
  EndedWorkers,
  GpuMove,
  Machine as MachineMessage,
  Worker as WorkerMessage,
  WorkerStretch,
} from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type {
  GetMachineResponse,
  MachineDrain as MachineDrainMessage,
  MachineStatus as MachineStatusMessage,
} from '@slipway/proto/gen/slipway/v1/machine_service';
import { GpuLevel } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import { engineToMessage } from '../../dispatch/container-messages.ts';
import { modelToMessage } from '../../dispatch/model-messages.ts';
import { gpuLoadToMessage } from '../../dispatch/reports/gpu-load-messages.ts';
import type { DrainState } from '../../domain/machines/drain.ts';
import type { EndedGroup } from '../../domain/machines/ended-workers.ts';
import { gpuDisplayName, gpuTypeOf } from '../../domain/machines/gpu-facts.ts';
import type { StandbyMemory, StandbyMove } from '../../domain/machines/standby.ts';
import type { Worker, WorkerPeriod } from '../../domain/machines/worker.ts';
import type { MachinePage } from '../../endpoints/read-machine.ts';
import type { MachineFacts, MachineStatus } from '../../store/machines/machine-rows.ts';

/** Converts a machine and its connection. */
export function machineToMessage({
  connected,
  cordoned,
  drain,
  seenAtMs,
  podGpuUuids,
  gpuLoads,
  standbyMemoryUsedBytes,
  labels,
  ...machine
}: MachineStatus): MachineStatusMessage {
  return {
    machine: machineMessage(machine, standbyMemoryUsedBytes),
    connected,
    cordoned,
    drain: drain && drainToMessage(drain),
    podGpuUuids,
    seenTime: new Date(seenAtMs),
    gpuLoads: gpuLoads.map(gpuLoadToMessage),
    labels,
  };
}

function drainToMessage({ sinceMs, deadlineMs, ...drain }: DrainState): MachineDrainMessage {
  const deadlineTime = deadlineMs === null ? undefined : new Date(deadlineMs);
  return { ...drain, startTime: new Date(sinceMs), deadlineTime };
}

/** Converts a machine with its workloads. */
export function machinePageToMessage({
  status,
  standing,
  pods,
  images,
  addresses,
  models,
  refusals,
  gpuEvents,
}: MachinePage): GetMachineResponse {
  const { replicaAddress, agentSinceMs, keyId, keyRevokedAtMs } = standing;
  return {
    status: machineToMessage(status),
    replicaAddress,
    agentSinceTime: new Date(agentSinceMs),
    keyId,
    keyRevokedTime: keyRevokedAtMs === null ? undefined : new Date(keyRevokedAtMs),
    pods: pods.map(({ state, desired, stateChangedAtMs, ...pod }) => ({
      ...pod,
      state: PodState[state],
      desiredStatus: PodStatus[desired],
      stateChangeTime: new Date(stateChangedAtMs),
    })),
    images: images.images,
    imageCount: images.count,
    imageBytes: images.bytes,
    addresses,
    models: models.models.map(modelToMessage),
    modelLimitBytes: models.limitBytes,
    modelUsedBytes: models.usedBytes,
    modelPeerAddress: models.peerAddress,
    gpuEvents: gpuEvents.map(({ level, atMs, ...event }) => ({
      ...event,
      level: GpuLevel[level],
      time: new Date(atMs),
    })),
    refusals: refusals.map(({ endpoint: { id, name, accountId }, refusal }) => ({
      endpointId: id,
      endpointName: name,
      accountId,
      ...refusal,
    })),
  };
}

/** Converts a machine, with the short names of its GPUs. */
export function machineMessage(facts: MachineFacts, standbyMemoryUsedBytes = 0): MachineMessage {
  const {
    id,
    name,
    gpus,
    locations,
    pool,
    cpuSlots,
    agentVersion,
    cudaVersion,
    cpuCount,
    memoryMib,
    cpuModel,
    cpuThreadsPerCore,
    standbyMax,
    gpuOffload,
    ephemeral,
    leavesAt,
    runsCommands,
    engine,
    noEngineReason,
  } = facts;
  return {
    id,
    name,
    locations,
    pool,
    cpuSlots,
    agentVersion,
    cudaVersion,
    cpuCount,
    memoryMib,
    cpuModel,
    cpuThreadsPerCore,
    standbyMax,
    gpuOffload: gpuOffload ? { ...gpuOffload, standbyMemoryUsedBytes } : undefined,
    gpus: gpus.map(({ reported, ...gpu }) => ({
      ...gpu,
      unhealthy: gpu.unhealthy ?? '',
      warning: gpu.warning ?? '',
      faultMark: reported?.faultMark ?? '',
      cordoned: gpu.cordoned ?? false,
      occupiedBy: gpu.occupiedBy ?? '',
      displayName: gpuDisplayName(gpuTypeOf(gpu)),
    })),
    runsCommands,
    containerEngine: engineToMessage(engine),
    ephemeral,
    leaveTime: leavesAt ?? undefined,
    noEngineReason,
  };
}

/** Converts a worker. A worker that is to stop shows as draining or outdated even before its agent knows. */
export function workerToMessage({
  desired,
  state,
  outdated,
  exitCode,
  createdAt,
  readyAt,
  endedAt,
  crashedAt,
  retryAt,
  busy,
  frozen,
  gpuLoads,
  load,
  standbyReached,
  ...worker
}: Worker): WorkerMessage {
  const runs = state === 'READY' || state === 'FROZEN' || state === 'INITIALIZING' || state === 'DRAINING';
  const drained = desired === 'DRAIN' ? 'DRAINING' : state;
  const leaving = outdated ? 'OUTDATED' : drained;
  return {
    ...worker,
    state: WorkerState[runs ? leaving : state],
    exitCode: exitCode ?? undefined,
    createTime: createdAt,
    readyTime: readyAt,
    endTime: endedAt,
    crashTime: crashedAt,
    retryTime: retryAt,
    busy: busy.map(stretchToMessage),
    frozen: frozen.map(stretchToMessage),
    gpuLoads: gpuLoads.map(gpuLoadToMessage),
    load: load ? { processors: load.processors, memoryUsedMib: load.memoryUsedMib } : undefined,
    ...standbyToMessage({ ...worker, standbyReached }),
  };
}

/** Converts where the GPU memory of a worker is, and its latest moves. */
export function standbyToMessage({ standbyReached, gpuMemoryBytes, lastOffload, lastRestore }: StandbyMemory) {
  return {
    standbyLevel: StandbyLevel[standbyReached === '' ? 'UNSPECIFIED' : standbyReached],
    gpuMemoryBytes,
    lastOffload: lastOffload && moveToMessage(lastOffload),
    lastRestore: lastRestore && moveToMessage(lastRestore),
  };
}

function moveToMessage({ bytes, ms }: StandbyMove): GpuMove {
  return { bytes, durationMs: ms };
}

function stretchToMessage({ begin, end }: WorkerPeriod): WorkerStretch {
  return { beginTime: begin, endTime: end };
}

/** Converts workers that ended unexpectedly. */
export function endedToMessage({ count, sentence, lastLine, last }: EndedGroup): EndedWorkers {
  return {
    endpointId: last.endpointId,
    endpointName: last.endpointName,
    count,
    exitCode: last.exitCode ?? undefined,
    lastLine,
    lastEndTime: last.endedAt,
    lastWorkerId: last.id,
    reason: last.reason,
    sentence,
  };
}
