/** The interface of what runs images on a machine: a container engine, or the Kubernetes node that the machine is. */
import type { DesiredImage, MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';
import type { Executor } from '../executors/executor.ts';
import type { MachineGpu } from '../inventory/machine-gpu.ts';
import type { GpuReading } from '../inventory/machine-gpus.ts';

/** Facts that are only known once the agent has started. */
export interface HostMachine {
  id: string;
  /** Name of this run of the agent. */
  instance: string;
  gpus: readonly MachineGpu[];
  /**
   * Workloads of the previous run that must not be removed yet; and how long to wait for their engine at the start, in
   * milliseconds.
   */
  left: { workloads: ReadonlySet<string>; waitMs: number };
}

/** An executor of images, whose workloads outlive the agent. */
interface ImageExecutor extends Executor {
  /** Returns the workloads of this machine that run, also those of previous runs of the agent. */
  running(): Promise<ReadonlySet<string>>;
}

export interface ImageHost {
  /** Runs images. `undefined` if that is not possible yet. */
  readonly executor: ImageExecutor | undefined;
  /** URL at which workers in images reach the bridge; empty if it is not known yet. */
  readonly bridgeUrl: string;
  /** True if data that a worker sends while no agent listens waits for the next one. */
  readonly isPatient: boolean;
  /** Current state of the machine. */
  readonly has: MachineContainers;
  /** Size of the machine, where it differs from the host's. */
  readonly size: Partial<Pick<Machine, 'cpuCount' | 'memoryMib'>>;
  /** Records that the agent stops and that something a worker sent may not have been accepted. */
  mayLose(): void;
  /** Keeps workers, which outlive this agent, from connecting to it while it stops. Never rejects. */
  pause(): Promise<void>;
  /** Sets what the machine is assumed to have until the first check. */
  assume(has: MachineContainers): void;
  /** Sets the facts about the machine. Must be called before `start`, and again when more is known. */
  setMachine(machine: HostMachine): void;
  /** Releases the workloads of the previous run: all of them were adopted or ended. */
  keepNothing(): void;
  /** Sets the images that may be needed here. */
  want(images: readonly DesiredImage[]): void;
  /** Returns which program outside Slipway holds a GPU; empty if none does. */
  occupantOf(uuid: string): string;
  /** Reads the GPUs of a machine whose driver the agent cannot ask. Absent: it asks the driver. Never rejects. */
  readGpus?(): Promise<GpuReading>;
  start(): Promise<void>;
  stop(): Promise<void>;
}
