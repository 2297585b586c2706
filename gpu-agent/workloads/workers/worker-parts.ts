/** Dependencies of a worker on the other parts of the agent. */

import type { GpuMemory } from '../../gpu-memory/gpu-memory.ts';
import type { WorkloadLauncher } from '../../launch/launcher.ts';
import type { LogArchive } from '../../launch/log-archive.ts';
import type { FreePorts } from '../http/free-ports.ts';
import type { WorkloadParts } from '../workload-kind.ts';
import type { SpanReader } from './job-lines.ts';
import type { WorkerListener } from './worker-listener.ts';

/** Dependencies of a worker. */
export interface WorkerParts<Worker> extends WorkloadParts, SpanReader {
  launcher: WorkloadLauncher;
  archive: LogArchive;
  listener: WorkerListener<Worker>;
  gpuMemory: GpuMemory;
  /** Resolves when the next run of the agent would find the workers as they are now. Never rejects. */
  recorded(): Promise<void>;
  /** Returns whether the worker holds attempts that have not ended. */
  isBusy(workerId: string): boolean;
  /** Milliseconds that a worker may take to end after SIGTERM. */
  graceMs: number;
  /** Ports for commands that serve HTTP. */
  ports: FreePorts;
  /** Milliseconds that a worker which serves HTTP may take to finish requests that have begun. */
  httpDrainMs: number;
}
