/** Converts attempts, workers and machines between the agent contract and the domain. Throws INVALID_REQUEST. */

import type {
  Assignment,
  AttemptRef,
  DesiredWorker,
  AttemptOutcome as OutcomeMessage,
  RegistryCredentials,
  WorkerReport,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { LossCause, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { S3Config } from '@slipway/proto/gen/slipway/v1/job';
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { OutcomeKind as Kind } from '../domain/jobs/attempt-outcome.ts';
import type { AttemptKey, MachineAttempt } from '../domain/jobs/job.ts';
import { cpuSize } from '../domain/machines/cpu-size.ts';
import { sameCard } from '../domain/machines/gpu-pools.ts';
import { httpServerOf } from '../domain/machines/http-server.ts';
import { poolIn } from '../domain/machines/machine-pool.ts';
import type { WorkerState as State, WorkerHealth } from '../domain/machines/worker.ts';
import { checkName, checkText, checkTexts, checkTime, invalid } from '../domain/settings/fields.ts';
import type { AttemptOutcome } from '../jobs/record/attempt-report.ts';
import type { ClaimedJob } from '../jobs/slots.ts';
import type { MachineFacts } from '../store/machines/machine-rows.ts';
import type { WorkerSpecRow } from '../store/machines/worker-specs.ts';
import type { DesiredWorkerRow, WorkerFacts } from '../store/machines/worker-store.ts';
import { engineFromMessage } from './container-messages.ts';
import { desiredStateOf, standbyLevelOf } from './desired-state.ts';
import { gpuFromMessage } from './gpu-messages.ts';
import { modelHubOf } from './model-hub.ts';
import { offloadFacts, offloadFromMessage } from './offload-messages.ts';
import type { HeldAttempt } from './slot-pool.ts';

const GPUS_MAX = 256;
const CPU_MODEL_LENGTH_MAX = 191;
const CPU_SLOTS_MAX = 10_000;
const STANDBY_MAX = 10_000;
/** Longest reason of a worker or pod that is stored, in characters (agent_service.proto: 4 KiB). */
const REASON_LENGTH_MAX = 4_096;
/** Most attempts a worker may ask for at once. */
const CAPACITY_MAX = 10_000;
const INIT_TIMEOUT_SECONDS = 420;
/** Longest execution time that is believed, in milliseconds. */
const EXECUTION_MS_MAX = 30 * 86_400_000;
/** Mount path of a network volume in a worker (docs/reference/management.md#network-volumes). */
const WORKER_VOLUME_PATH = '/runpod-volume';

/** Opens the secrets of a registry auth; undefined when they do not open. */
export type OpenCredentials = (registryAuthId: string, sealed: Buffer) => RegistryCredentials | undefined;

const STATES: Record<WorkerState, State | undefined> = {
  [WorkerState.UNSPECIFIED]: undefined,
  [WorkerState.INITIALIZING]: 'INITIALIZING',
  [WorkerState.READY]: 'READY',
  [WorkerState.DRAINING]: 'DRAINING',
  [WorkerState.UNHEALTHY]: 'UNHEALTHY',
  [WorkerState.STOPPED]: 'STOPPED',
  [WorkerState.OUTDATED]: undefined,
  [WorkerState.FROZEN]: 'FROZEN',
};

const HEALTHS: Record<HttpHealth, WorkerHealth> = {
  [HttpHealth.UNSPECIFIED]: '',
  [HttpHealth.INITIALIZING]: 'INITIALIZING',
  [HttpHealth.READY]: 'READY',
  [HttpHealth.UNHEALTHY]: 'UNHEALTHY',
};
/** Form of a worker's address in reports: host:port or `tunnel`. Any other text counts as no address. */
export const ADDRESS_FORM = /^tunnel$|^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[1-9]\d{0,4}$/;

const KINDS: Record<OutcomeKind, Kind | undefined> = {
  [OutcomeKind.UNSPECIFIED]: undefined,
  [OutcomeKind.COMPLETED]: 'COMPLETED',
  [OutcomeKind.FAILED]: 'FAILED',
  [OutcomeKind.LOST]: 'LOST',
  [OutcomeKind.RETURNED]: 'RETURNED',
  [OutcomeKind.STOPPED]: 'STOPPED',
};

/** Returns the checked facts of a machine from its hello. */
export function machineFromMessage(machine: Machine | undefined): MachineFacts {
  if (!machine || !/^[a-z0-9]{12}$/.test(machine.id))
    throw invalid('hello.machine.id must be 12 lowercase letters and digits');
  checkName('hello.machine.name', machine.name);
  checkTexts('hello.machine.locations', machine.locations);
  if (machine.pool) checkName('hello.machine.pool', machine.pool);
  checkText('hello.machine.agent_version', machine.agentVersion);
  checkText('hello.machine.cuda_version', machine.cudaVersion);
  if (machine.gpus.length > GPUS_MAX)
    throw invalid(`hello.machine.gpus has ${machine.gpus.length} entries, but may have ${GPUS_MAX}`);
  if (machine.cpuSlots < 0 || machine.cpuSlots > CPU_SLOTS_MAX)
    throw invalid(`hello.machine.cpu_slots must be from 0 to ${CPU_SLOTS_MAX}`);
  // A GPU has one holder at a time, so two entries with one uuid could never both be used.
  if (new Set(machine.gpus.map(({ uuid }) => uuid)).size < machine.gpus.length)
    throw invalid('hello.machine.gpus names a uuid twice');
  if (machine.standbyMax < 0 || machine.standbyMax > STANDBY_MAX)
    throw invalid(`hello.machine.standby_max must be from 0 to ${STANDBY_MAX}`);
  checkText('hello.machine.cpu_model', machine.cpuModel);
  checkTime('hello.machine.leave_time', machine.leaveTime?.getTime());
  const {
    id,
    name,
    locations,
    cpuSlots,
    agentVersion,
    cudaVersion,
    cpuCount,
    memoryMib,
    cpuModel,
    cpuThreadsPerCore,
    standbyMax,
  } = machine;
  const gpus = machine.gpus.map(gpuFromMessage);
  return {
    id,
    name,
    gpus,
    locations,
    pool: machine.pool || poolIn(locations),
    cpuSlots,
    agentVersion,
    cudaVersion,
    cpuCount,
    memoryMib,
    cpuModel: cpuModel.slice(0, CPU_MODEL_LENGTH_MAX),
    cpuThreadsPerCore,
    standbyMax,
    gpuOffload: offloadFromMessage(machine.gpuOffload),
    ephemeral: machine.ephemeral,
    leavesAt: machine.leaveTime ?? null,
    runsCommands: machine.runsCommands,
    ...engineFromMessage(machine.containerEngine, machine.noEngineReason),
  };
}

/** Returns the key of an attempt that this machine's agent names, `undefined` if the message names none. */
export function keyFromRef(ref: AttemptRef | undefined, machineId: string): MachineAttempt | undefined {
  if (!ref || ref.endpointId === '' || ref.jobId === '' || ref.attempt < 1) return undefined;
  // PostgreSQL rejects a NUL, and with it the other reports of the batch.
  if (ref.endpointId.includes('\0') || ref.jobId.includes('\0')) return undefined;
  return { endpointId: ref.endpointId, jobId: ref.jobId, attempt: ref.attempt, machineId };
}

/** Returns the wire reference of an attempt, with its worker. */
export function refOf({ endpointId, jobId, attempt, workerId }: AttemptKey & { workerId: string }): AttemptRef {
  return { endpointId, jobId, attempt, workerId };
}

/** Returns the attempts that a hello lists, without malformed ones. */
export function heldFromRefs(refs: readonly AttemptRef[], machineId: string): HeldAttempt[] {
  return refs.flatMap((ref) => {
    const key = keyFromRef(ref, machineId);
    return key ? [{ ...key, workerId: ref.workerId }] : [];
  });
}

/** Returns the outcome that this machine's agent reports, `undefined` for a malformed message, which is ignored. */
export function outcomeFromMessage(message: OutcomeMessage, machineId: string): AttemptOutcome | undefined {
  const key = keyFromRef(message.ref, machineId);
  const kind = KINDS[message.kind];
  if (!key || !kind) return undefined;
  const { output, error, executionMs, cause } = message;
  const known = executionMs !== undefined && executionMs >= 0 && executionMs <= EXECUTION_MS_MAX;
  return {
    ...key,
    kind,
    output,
    error,
    ...(known && { executionMs }),
    ...(cause === LossCause.OUT_OF_MEMORY && { outOfMemory: true }),
  };
}

/**
 * Returns the facts of a worker report, `undefined` if its state is unknown or PostgreSQL cannot store its id (it
 * would be retried for ever).
 */
export function factsFromReport(report: WorkerReport): WorkerFacts | undefined {
  const state = STATES[report.state];
  if (!state || report.workerId.includes('\0')) return undefined;
  return {
    workerId: report.workerId,
    state,
    capacity: Math.min(Math.max(report.capacity, 0), CAPACITY_MAX),
    // A ready worker has no start-up phase any more. A server that was ready once may be unready now.
    reason: state === 'READY' && !isUnready(report.health) ? '' : reasonOf(report.reason),
    exitCode: report.exitCode ?? null,
    sdkVersion: storable(report.sdkVersion).slice(0, 64),
    address: ADDRESS_FORM.test(report.address) ? report.address : '',
    health: HEALTHS[report.health] ?? '',
    singleUse: report.singleUse,
    blocked: report.blocked,
    ...offloadFacts(report),
  };
}

function isUnready(health: HttpHealth): boolean {
  return health === HttpHealth.INITIALIZING || health === HttpHealth.UNHEALTHY;
}

/** Returns a claimed job as a message for its agent. `s3Config` is the decrypted message. */
export function assignmentOf(job: ClaimedJob, s3Config: Buffer | undefined): Assignment {
  const { input, inputSize, prefetched = false, traceparent, batchId } = job;
  return {
    ref: refOf(job),
    input,
    inputSize,
    s3Config: s3Config && S3Config.decode(s3Config),
    ahead: prefetched,
    traceparent,
    batchId,
  };
}

/** Columns that name a worker's image, its owner and its registry credentials. */
type PulledRow = Pick<WorkerSpecRow, 'imageName' | 'registryAuthId' | 'credentialsSealed' | 'registryAuthName'>;

/**
 * Decrypts the registry credentials of an image, under the name that their owner gave them. Returns `undefined` if the
 * image is pulled without credentials.
 */
export function credentialsOf(row: PulledRow, open: OpenCredentials): RegistryCredentials | undefined {
  const { imageName, registryAuthId, credentialsSealed, registryAuthName } = row;
  if (imageName === '' || registryAuthId === null || credentialsSealed === null) return undefined;
  const opened = open(registryAuthId, credentialsSealed);
  return opened && { ...opened, name: registryAuthName ?? '' };
}

/**
 * Returns a worker's specification as a message. `env`: with its secrets. `open` decrypts the registry credentials.
 * `hub`: address of the hub that models come from.
 */
export function desiredToMessage(
  row: DesiredWorkerRow,
  spec: WorkerSpecRow,
  env: Record<string, string>,
  open: OpenCredentials,
  hub: string,
): DesiredWorker {
  const gpu = spec.gpus.find((candidate) => candidate.uuid === spec.gpuUuids[0]);
  const { imageName, networkVolumeId, networkVolumeGb } = spec;
  return {
    workerId: row.id,
    endpointId: row.endpointId,
    desired: desiredStateOf(row),
    idle: row.idle,
    standbyLevel: standbyLevelOf(row),
    spec: {
      startCommand: spec.startCommand,
      workingDirectory: spec.workingDirectory,
      imageName,
      // Only an image has an entry point.
      entrypoint: imageName === '' ? [] : spec.entrypoint,
      env,
      gpuUuids: spec.gpuUuids,
      concurrency: spec.concurrency,
      version: spec.version,
      initTimeoutSeconds: INIT_TIMEOUT_SECONDS,
      gpuTypeId: gpu ? sameCard(gpu.name) : '',
      volumes:
        networkVolumeId === null
          ? []
          : [{ networkVolumeId, mountPath: WORKER_VOLUME_PATH, sizeGb: networkVolumeGb ?? 0 }],
      registryCredentials: credentialsOf(spec, open),
      vcpuCount: cpuSize(spec.instanceId)?.vcpus ?? 0,
      memoryGb: cpuSize(spec.instanceId)?.memoryGb ?? 0,
      accountNumber: spec.accountNumber,
      imageDigest: spec.imageDigest,
      containerDiskGb: spec.containerDiskGb,
      ports: spec.ports,
      models: spec.models,
      modelHub: modelHubOf(hub, spec.models, env),
      httpServer: spec.type === 'LB' ? httpServerOf({ env, ports: spec.ports }) : undefined,
      // These are for pods only.
      volumeGb: 0,
      volumeMountPath: '',
    },
  };
}

/** Returns the reason of an end as it is stored: at most 4 KiB from its end, where the last log lines are. */
export function reasonOf(text: string): string {
  return storable(text).slice(-REASON_LENGTH_MAX);
}

/** Replaces NUL in a text that a worker wrote, because PostgreSQL cannot store it. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
