/** A workload over an executor that a test holds. */

import type { Launch, WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import { GpuHandover } from '@slipway/gpu-agent/launch/gpu-handover';
import { StartGate } from '@slipway/gpu-agent/workloads/start-gate';
import type { Desired, Policy, Want } from '@slipway/gpu-agent/workloads/step';
import { Workload } from '@slipway/gpu-agent/workloads/workload';
import type { WorkloadKind } from '@slipway/gpu-agent/workloads/workload-kind';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { NO_LIMITS } from '../../helpers/no-limits.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { ScriptedExecutor } from '../scripted-executor.ts';

export const WORKER: Policy = { restarts: false, graceMs: 5_000, initTimeoutMs: 60_000 };
export const POD: Policy = { restarts: true, graceMs: 5_000, initTimeoutMs: undefined };
const GPU = 'GPU-1';

export const want = (name: Want, run = 0): Desired => ({ want: name, run, disk: 0 });

/** Returns a workload of no kind in particular. `errors` has what its log says is wrong. */
export function makeWorkload(
  policy: Policy,
  {
    executor = new ScriptedExecutor(),
    handover = new GpuHandover(),
    id = 'workload',
    desired = want('running'),
    starts = undefined as StartGate | undefined,
  } = {},
) {
  const clock = new ManualClock();
  const errors: string[] = [];
  const logger = createLogger('test', 'silent');
  logger.error = (...args: unknown[]) => {
    errors.push(JSON.stringify(args));
  };
  const seen = {
    exits: [] as WorkloadExit[],
    busy: false,
    removed: 0,
    cleaned: [] as (number | undefined)[],
    launchFails: undefined as Error | undefined,
  };
  const launch: Launch = {
    workloadId: id,
    command: ['run'],
    entrypoint: [],
    image: undefined,
    user: undefined,
    workingDirectory: '/',
    env: {},
    mounts: [],
    gpus: [],
    limits: NO_LIMITS,
    onOutput: () => undefined,
  };
  const kind: WorkloadKind = {
    policy,
    ids: { workloadId: id },
    gpuUuids: [GPU],
    isBusy: () => seen.busy,
    executor: () => executor,
    launch: async () => {
      if (seen.launchFails) throw seen.launchFails;
      return { launch, executor };
    },
    changed: () => undefined,
    output: () => undefined,
    ending: () => undefined,
    started: () => undefined,
    stopping: () => undefined,
    exited: (exit) => {
      seen.exits.push(exit);
    },
    cleanUpFiles: async (disk) => {
      seen.cleaned.push(disk);
    },
    remove: async () => {
      seen.removed += 1;
    },
  };
  const workload = new Workload(id, desired, kind, {
    handover,
    starts: starts ?? new StartGate(4, clock),
    clock,
    random: { ...systemRandom, fraction: () => 0 },
    logger,
  });
  return { workload, executor, clock, errors, seen, handover };
}
