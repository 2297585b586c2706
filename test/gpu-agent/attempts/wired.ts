/**
 * The parts that carry attempts, wired as in an agent, with workers that are only promises and takes and stop polls
 * that a test opens.
 */
import { join } from 'node:path';
import { buildAttempts } from '@slipway/gpu-agent/build-attempts';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import type { WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import { buildGpuMemory } from '@slipway/gpu-agent/gpu-memory/build-gpu-memory';
import type { GpuMemory } from '@slipway/gpu-agent/gpu-memory/gpu-memory';
import { GpuHandover } from '@slipway/gpu-agent/launch/gpu-handover';
import { WorkloadLauncher } from '@slipway/gpu-agent/launch/launcher';
import { LogArchive } from '@slipway/gpu-agent/launch/log-archive';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { WorkerUsers } from '@slipway/gpu-agent/users/worker-users';
import { StartGate, startPermits } from '@slipway/gpu-agent/workloads/start-gate';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import type { AttemptRef, SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState, DesiredWorkers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { ScriptedExecutor } from '../scripted-executor.ts';

/** Lets one tick of the event loop pass, so that all work that only waits for a tick is done. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

const NO_MOVES = { standbyMemoryGb: 0 };

/**
 * Builds them. Nothing is sent: `message` takes what would be. `diskAfterMs`: how long outcomes wait before they are
 * written; default at once. `gpuMemory`: default one that moves nothing.
 */
export async function wired(t: Test, { diskAfterMs = 0, gpuMemory = undefined as GpuMemory | undefined } = {}) {
  const clock = new ManualClock();
  const executor = new ScriptedExecutor();
  const folder = t.testdir({ logs: {} });
  const logger = createLogger('test', 'silent');
  const launcher = new WorkloadLauncher({
    executors: { process: executor, container: executor },
    users: new WorkerUsers({ kind: 'same' }, folder, logger),
    scratchFolder: join(folder, 'scratch'),
    volumes: new VolumeFolders(join(folder, 'volumes'), undefined, logger),
    machineName: 'machine',
    locations: [],
    hostEnv: {},
    gpus: () => [],
    bridgeUrl: () => 'http://127.0.0.1:1',
    resolveImage: async ({ digest }) => digest,
  });
  const workloads = {
    launcher,
    archive: new LogArchive({ folder: join(folder, 'logs'), bytesMax: 64 * 1024 * 1024, clock }),
    handover: new GpuHandover(),
    starts: new StartGate(startPermits(), clock),
    gpuMemory: gpuMemory ?? buildGpuMemory(NO_MOVES, {}, { onUnsupported: () => {}, onMove: () => {}, clock, logger }),
  };
  const lease = { isHeld: true };
  const parts = buildAttempts({
    config: readAgentConfig({
      SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
      SLIPWAY_AGENT_KEY: 'key',
      SLIPWAY_AGENT_DATA_DIR: folder,
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
    }),
    logger,
    clock,
    diskAfterMs,
    random: systemRandom,
    disk: machineDisk,
    lease,
    workloads,
  });
  await parts.spool.open();
  t.teardown(async () => {
    await parts.spool.close();
    await parts.runLog.close();
  });

  /** Core wants these workers and no others: ids with their endpoints. The new ones ask for work at once. */
  const desire = async (workers: Record<string, string>): Promise<void> => {
    const how = { desired: DesiredState.RUN, spec: { startCommand: ['run'] } };
    const list = Object.entries(workers).map(([workerId, endpointId]) => ({ workerId, endpointId, ...how }));
    parts.pool.apply(DesiredWorkers.fromPartial({ workers: list }));
    for (const { workerId } of list) {
      const worker = parts.pool.get(workerId)!;
      while (!executor.of(workerId)) await turn();
      worker.sdk.setVersion('1.12.0');
      if (!worker.asked) worker.ready();
    }
  };
  const refOf = (jobId: string, workerId: string, attempt = 1): AttemptRef => ({
    endpointId: parts.pool.get(workerId)!.endpointId,
    jobId,
    attempt,
    workerId,
  });
  /**
   * Opens a worker's take. Returns a function that closes it. `reported` receives the answer, `over` the callback for
   * the moment when its connection is used again.
   */
  const openTake = (
    workerId: string,
    { requested = 1, delivered = true, reported = [] as string[], over = [] as (() => void)[] } = {},
  ): (() => void) => {
    const poll = fakePoll({ reported, delivered, over, onClosed: () => release() });
    const release = parts.polls.holdTake(workerId, poll, { requested, batch: requested > 1 });
    return release;
  };
  /** Core assigns an attempt. */
  const assign = (ref: AttemptRef): void => {
    parts.intake.assign([{ ref, input: Buffer.from('{}'), inputSize: 2, s3Config: undefined, ahead: false }]);
  };
  return {
    ...parts,
    workloads,
    lease,
    executor,
    clock,
    logger,
    folder: join(folder, 'spool'),
    desire,
    refOf,
    openTake,
    assign,
    /** Gives a worker a job, which it takes at once. */
    give: async (ref: AttemptRef): Promise<void> => {
      openTake(ref.workerId);
      assign(ref);
      await turn();
    },
    /** The next message to core. */
    message: (): SessionRequest | undefined =>
      parts.outbox.take({
        worker: (id) => {
          const worker = parts.pool.get(id);
          return worker && parts.reporter.take(worker);
        },
        pod: () => undefined,
        gpuLoads: () => ({ loads: [], workers: {} }),
        models: () => ({ models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' }),
        containers: () => ({ engine: undefined, noEngineReason: '', images: [] }),
      }),
    /** Its process ends. */
    exit: async (workerId: string, exit: Partial<WorkloadExit> = {}): Promise<void> => {
      executor.of(workerId)!.exit(exit);
      await turn();
    },
    /**
     * Opens a stop poll of the worker. Resolves with the jobs reported to it so far. `delivered`: the answer reaches
     * the worker.
     */
    openStopPoll: (workerId: string, delivered = true): string[] => {
      const reported: string[] = [];
      const release = parts.polls.holdStop(workerId, fakePoll({ reported, delivered, onClosed: () => release() }));
      parts.stopper.deliver(workerId);
      return reported.flatMap((body) => (JSON.parse(body) as { jobsToStop: string[] }).jobsToStop);
    },
  };
}

/** Returns a request of a worker that is held open. */
function fakePoll({
  reported,
  delivered,
  over,
  onClosed,
}: {
  reported: string[];
  delivered: boolean;
  over?: (() => void)[];
  onClosed(): void;
}) {
  return {
    answer: async (body: readonly Uint8Array[]): Promise<boolean> => {
      onClosed();
      if (delivered) reported.push(String(Buffer.concat(body)));
      return delivered;
    },
    empty: onClosed,
    onOver: (listener: () => void): void => {
      over?.push(listener);
    },
  };
}
