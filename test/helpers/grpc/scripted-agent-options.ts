/** Options of the scripted agent. */

import type { TlsSource } from '@slipway/kit/net/tls-source';
import type {
  Assignment,
  AttemptOutcome,
  AttemptRef,
  AttemptStop,
  MachineModels,
  WorkerLogRequest,
  WorkerReport,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type {
  ContainerEngine,
  Gpu,
  GpuOffload,
  MachineImage,
  OffloadFailure,
} from '@slipway/proto/gen/slipway/v1/machine';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';

/** Options of the scripted agent. */
export interface ScriptedAgentOptions {
  address: string;
  /** Empty: it proves itself by the certificate of `tls`. */
  agentKey: string;
  /** Certificates of a grpcs address. */
  tls?: TlsSource;
  /** Default: a fixed id. Give each agent of a test its own. */
  machineId?: string;
  gpus?: (Pick<Gpu, 'uuid' | 'name' | 'memoryMib' | 'migProfile'> & Partial<Gpu>)[];
  locations?: string[];
  /** Pool of the token with which it joined. Default: none. */
  pool?: string;
  /** It is forgotten when it leaves. Default: false. */
  ephemeral?: boolean;
  /** Default: none. */
  leaveTime?: Date;
  /** Default 16. */
  cpuSlots?: number;
  /** Standby workers that it can hold. Default: 4. */
  standbyMax?: number;
  /** Offload that it supports. Default: it does not know offload. */
  offload?: Partial<GpuOffload>;
  /** GPU memory of each of its workers, in bytes. Default: 0, unknown. */
  gpuBytes?: number;
  /**
   * Called for each move of GPU memory. It is done when the promise resolves; with a failure the worker ends. Default:
   * done at once.
   */
  onMove?(move: 'OFFLOAD' | 'RESTORE', workerId: string): Promise<OffloadFailure | undefined>;
  /** Processors, and memory in MiB. Default: 0, unknown. */
  cpuCount?: number;
  memoryMib?: number;
  /** Default: unknown. */
  cpuModel?: string;
  /** Newest CUDA version of its driver, such as `12.8`. Default: unknown. */
  cudaVersion?: string;
  /** True if its operator allows commands of the host. Default: true. */
  runsCommands?: boolean;
  /** Container engine of the machine; null = none. Default: an engine that can hand GPUs over. */
  engine?: ContainerEngine | null;
  noEngineReason?: string;
  /** Images on the machine, and whether the agent pulls images before they are needed. */
  images?: MachineImage[];
  prefetches?: boolean;
  /** Models of the machine, sent with the hello. Default: it takes no models. */
  models?: MachineModels;
  /** True if it understands recalls, which revoke prefetched jobs. Default: true. */
  recalls?: boolean;
  /** Attempts that each worker reports it can hold. Default: 1. */
  capacity?: number;
  /** Reports desired workers as READY without the test's help. Default: true. */
  startWorkers?: boolean;
  /**
   * Returns the outcome of an assignment. `undefined` if the test ends it with `finish`. Default: COMPLETED with the
   * output `{"ok":true}`.
   */
  onAssignment?(assignment: Assignment): Partial<AttemptOutcome> | undefined;
  /** Returns the outcome sent in answer to a stop. `undefined` if none is sent. Default: STOPPED. */
  onStop?(stop: AttemptStop): Partial<AttemptOutcome> | undefined;
  /**
   * Returns the log of a worker. `undefined` if the agent does not answer. Default: answers that it knows no such
   * worker.
   */
  onLogRequest?(request: WorkerLogRequest): Buffer | undefined;
  /** Attempts that its hello lists as held. */
  held?: AttemptRef[];
  /** Name of its run, and of the run that it replaces. Default: not sent. */
  instance?: string;
  replaces?: string;
  /** Workers that its hello lists as running. */
  workers?: Partial<WorkerReport>[];
  /** Records core's messages for assertions. Default: true. The benchmark turns it off to save memory. */
  record?: boolean;
  /**
   * Heartbeat interval in milliseconds; 0 = no heartbeats, so that the lease expires. Default: the interval in the
   * welcome.
   */
  heartbeatMs?: number;
}

export const ENGINE: ContainerEngine = {
  name: 'docker',
  version: '1',
  gpuHandover: GpuHandover.CDI,
  limits: ['memory'],
  imageTotalMib: 1_000,
  imageFreeMib: 500,
};
export const DONE = { kind: OutcomeKind.COMPLETED, output: Buffer.from('{"ok":true}') };
