/** Metrics of an agent. docs/reference/metrics.md describes each. */

import type { BudgetFill } from '@slipway/kit/observe/budget-metrics';
import { budgetMetrics } from '@slipway/kit/observe/budget-metrics';
import { httpMetrics } from '@slipway/kit/observe/http-metrics';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { CALL_SECONDS, JOB_SECONDS } from '@slipway/kit/observe/metrics';
import type { Clock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { FastifyInstance } from 'fastify';
import type { OnMove } from './gpu-memory/gpu-memory.ts';
import { offloadMetrics } from './gpu-memory/offload-metrics.ts';
import type { OnPull } from './images/image-puller.ts';
import type { MachineGpu } from './inventory/machine-gpu.ts';
import type { ModelMeter } from './models/model-metrics.ts';
import { modelMetrics } from './models/model-metrics.ts';
import type { OnStart } from './workloads/workload-kind.ts';

/** Values that are read at each scrape. */
interface AgentReadings {
  /** Returns the number of attempts that the agent holds. */
  attempts(): number;
  /** Returns the outcomes on disk that core has not acknowledged, and their size in bytes. */
  spooled(): { outcomes: number; bytes: number };
  /** Returns whether there is a session with core. */
  connected(): boolean;
  gpus(): readonly MachineGpu[];
  gpuLoads(): readonly GpuLoad[];
  /** Returns the host memory of offloaded workers in bytes. */
  offloadedBytes(): number;
  /** Returns the disk of cached models in bytes. */
  modelDisk(): { usedBytes: number; limitBytes: number };
  /** Memory budgets by name. */
  budgets: Readonly<Record<string, () => BudgetFill>>;
}

/** Callbacks with which the parts of an agent report events. */
export interface AgentMeter extends ModelMeter {
  countBridgeCalls(app: FastifyInstance): void;
  onAttemptEnd(kind: OutcomeKind): void;
  onOutOfMemory(): void;
  onStart: OnStart;
  onPull: OnPull;
  onMove: OnMove;
}

const KINDS = Object.values(OutcomeKind)
  .filter((kind) => kind > 0)
  .map((kind) => enumName(OutcomeKind, kind));
const STARTS: readonly Parameters<OnStart>[0][] = ['started', 'failed', 'abandoned'];
const PULLS: readonly Parameters<OnPull>[0][] = ['pulled', 'failed', 'abandoned'];

const BYTES_PER_MIB = 1024 * 1024;

/** Registers the metrics and returns the meter. */
export function agentMetrics(metrics: Metrics, readings: AgentReadings, clock: Clock): AgentMeter {
  const gauge = (name: string, help: string, read: () => number): void => {
    metrics.gauge({ name, help }, (one) => one.set(read()));
  };
  gauge('slipway_agent_connected', '1 while the agent has a session with core.', () => Number(readings.connected()));
  gauge('slipway_agent_attempts', 'Attempts on this machine.', () => readings.attempts());
  gauge(
    'slipway_agent_spool_outcomes',
    'Outcomes on disk that core has not acknowledged.',
    () => readings.spooled().outcomes,
  );
  gauge('slipway_agent_spool_bytes', 'Size of these outcomes on disk.', () => readings.spooled().bytes);
  gpuMetrics(metrics, readings);
  const budgets = budgetMetrics(metrics, 'slipway_agent');
  for (const [name, fill] of Object.entries(readings.budgets)) budgets.watch(name, fill);
  const outOfMemory = metrics.counter({
    name: 'slipway_agent_workers_out_of_memory_total',
    help: 'Workers that ended because they ran out of memory.',
  });
  const ends = metrics.counter(
    { name: 'slipway_agent_attempts_ended_total', help: 'Attempts that ended, by kind of outcome.', labels: ['kind'] },
    KINDS,
  );
  const starts = metrics.counter(
    { name: 'slipway_agent_workload_starts_total', help: 'Starts of workers and pods, by result.', labels: ['result'] },
    STARTS,
  );
  const prepared = metrics.histogram(
    {
      name: 'slipway_agent_workload_prepare_seconds',
      help: 'Time until the process or container of a worker or pod started, including the image pull.',
    },
    JOB_SECONDS,
  );
  const pulls = metrics.counter(
    { name: 'slipway_agent_image_pulls_total', help: 'Image pulls that ended, by result.', labels: ['result'] },
    PULLS,
  );
  const pulled = metrics.histogram(
    { name: 'slipway_agent_image_pull_seconds', help: 'Duration of successful image pulls.' },
    [...CALL_SECONDS, 600, 1_800],
  );
  return {
    countBridgeCalls: httpMetrics(metrics, 'slipway_agent_bridge', clock),
    onAttemptEnd: (kind) => ends.inc({ kind: enumName(OutcomeKind, kind) }),
    ...modelMetrics(metrics, () => readings.modelDisk()),
    onMove: offloadMetrics(metrics, () => readings.offloadedBytes()),
    onOutOfMemory: () => outOfMemory.inc(),
    onStart: (result, tookMs) => {
      starts.inc({ result });
      if (result === 'started') prepared.observe(tookMs / 1_000);
    },
    onPull: (result, tookMs) => {
      pulls.inc({ result });
      if (result === 'pulled') pulled.observe(tookMs / 1_000);
    },
  };
}

/**
 * Registers metrics of real GPUs and MIG slices; a machine has at most a few dozen. A GPU of which the driver reports
 * nothing has no value.
 */
function gpuMetrics(metrics: Metrics, { gpus, gpuLoads }: Pick<AgentReadings, 'gpus' | 'gpuLoads'>): void {
  const each = (
    name: string,
    help: string,
    valueOf: (gpu: MachineGpu, load: GpuLoad | undefined) => number | undefined,
  ): void => {
    metrics.gauge({ name, help, labels: ['gpu', 'type'] }, (gauge) => {
      gauge.reset();
      for (const gpu of gpus().filter(({ virtual }) => !virtual)) {
        const value = valueOf(
          gpu,
          gpuLoads().find(({ uuid }) => uuid === gpu.uuid),
        );
        if (value !== undefined)
          gauge.set({ gpu: gpu.uuid, type: [gpu.name, gpu.migProfile].filter(Boolean).join(' MIG ') }, value);
      }
    });
  };
  each(
    'slipway_agent_gpu_utilization_ratio',
    'Share of time in which a kernel ran on the GPU; absent for MIG slices.',
    (_gpu, load) => load?.utilization,
  );
  each('slipway_agent_gpu_memory_used_bytes', 'GPU memory in use.', (_gpu, load) => inBytes(load?.memoryUsedMib));
  each('slipway_agent_gpu_memory_bytes', 'GPU memory.', ({ memoryMib }) => inBytes(memoryMib));
  each(
    'slipway_agent_gpu_temperature_celsius',
    'Temperature of the GPU card.',
    (_gpu, load) => load?.temperatureCelsius,
  );
  each('slipway_agent_gpu_power_watts', 'Power draw of the GPU card.', (_gpu, load) => load?.powerWatts);
}

function inBytes(mib: number | undefined): number | undefined {
  return mib === undefined ? undefined : mib * BYTES_PER_MIB;
}
