/** A real agent in a process of its own that moves GPU memory of Python workers, driven by a scripted core. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadyMessage } from '@slipway/dev/processes/node-process';
import { nodeProcess } from '@slipway/dev/processes/node-process';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import { Child } from '../child.ts';
import { startScriptedCore } from '../grpc/scripted-core.ts';
import { openFolder } from '../open-folder.ts';
import type { CudaStandIn } from './stand-in.ts';

const root = join(import.meta.dirname, '../../..');
const [RUN, FREEZE] = [DesiredState.RUN, DesiredState.FREEZE];
const { HOST, UNSPECIFIED } = StandbyLevel;

/** Output of test/handlers/gpu.py. */
export interface GpuOutput {
  number: number;
  pid: number;
  mib: number;
}

/** Command of a worker, and the GPU memory that it takes. */
interface GpuWorker {
  startCommand?: string[];
  imageName?: string;
  gpuUuids: string[];
  mib: number;
}

/** Starts the agent with this driver; it stops with the test. `env` has further variables. */
export async function startGpuAgent(t: Test, cuda: CudaStandIn, env: Record<string, string> = {}) {
  const core = await startScriptedCore(t);
  const folder = await openFolder(t);
  const dataDir = join(folder, 'agent');
  await mkdir(dataDir);
  const child = new Child<ReadyMessage & { metrics?: string }>(
    nodeProcess({
      name: 'agent',
      root,
      file: 'gpu-agent/main.ts',
      logDir: folder,
      env: () => ({
        ...process.env,
        SLIPWAY_CORE_ADDRESS: core.address,
        SLIPWAY_AGENT_KEY: 'key',
        SLIPWAY_AGENT_DATA_DIR: dataDir,
        SLIPWAY_WORKER_USER: 'same',
        SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
        SLIPWAY_AGENT_CONTAINERS: 'none',
        SLIPWAY_METRICS_LISTEN: '127.0.0.1:0',
        SLIPWAY_WORKER_GRACE_MS: '500',
        ...cuda.env,
        ...env,
      }),
    }),
  );
  const ready = await child.start();
  t.teardown(async () => {
    if (!t.passing()) t.comment(child.tail);
    await child.stop();
  });
  const wanted = new Map<string, { desired: DesiredState; standbyLevel: StandbyLevel }>();
  const workers = new Map<string, GpuWorker>();
  const desire = (): void =>
    core.desire(
      [...wanted].map(([workerId, how]) => {
        const { mib, ...spec } = workers.get(workerId)!;
        const own = { CUDA_STAND_IN: cuda.library, GPU_MIB: String(mib) };
        return { workerId, endpointId: `endpoint-${workerId}`, ...how, spec: { ...spec, env: own } };
      }),
    );
  const want = (workerId: string, desired: DesiredState, standbyLevel: StandbyLevel = UNSPECIFIED): void => {
    wanted.set(workerId, { desired, standbyLevel });
    desire();
  };
  const reachesReady = (workerId: string) => core.reaches(workerId, WorkerState.READY, UNSPECIFIED);
  return {
    core,
    child,
    metrics: ready.metrics!,
    want,
    /** Starts a worker and waits until it is ready. */
    start: async (workerId: string, worker: GpuWorker): Promise<void> => {
      workers.set(workerId, worker);
      want(workerId, RUN);
      await reachesReady(workerId);
    },
    offload: async (workerId: string): Promise<void> => {
      want(workerId, FREEZE, HOST);
      await core.reaches(workerId, WorkerState.FROZEN, HOST);
    },
    restore: async (workerId: string): Promise<void> => {
      want(workerId, RUN);
      await reachesReady(workerId);
    },
    /** Desires the worker no more. */
    drop: (workerId: string): void => {
      wanted.delete(workerId);
      desire();
    },
    run: async (workerId: string, number: number): Promise<GpuOutput> => {
      const outputs = await core.run(`endpoint-${workerId}`, workerId, `job-${number}`, { number });
      return JSON.parse(outputs[0]!) as GpuOutput;
    },
  };
}
