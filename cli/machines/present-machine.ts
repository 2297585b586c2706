/** Presents a machine to people and to programs. */

import { printable } from '@slipway/kit/log/printable';
import type { Gpu, GpuLoad, Machine, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuHandover, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineDrain, MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import { ago, count, memory, roughly } from '../output/words.ts';

/** Returns the state: `connected, cordoned`. */
export function stateText({ connected, cordoned, seenTime, drain }: MachineStatus, nowMs: number): string {
  const state = connected ? 'connected' : `gone, seen ${ago(seenTime, nowMs)}`;
  if (drain) return `${state}, ${drainText(drain, nowMs)}`;
  return cordoned ? `${state}, cordoned` : state;
}

/** Returns `draining: 2 workers, 1 job left, 28 min to the deadline (new GPUs)`, or `drained`. */
export function drainText({ workers, jobs, pods, deadlineTime, reason }: MachineDrain, nowMs: number): string {
  const leftMs = deadlineTime ? deadlineTime.getTime() - nowMs : 0;
  const left = leftMs > 0 ? `${roughly(leftMs)} to the deadline` : 'deadline over';
  const until = deadlineTime ? `, ${left}` : '';
  const state =
    workers + jobs > 0 ? `draining: ${count(workers, 'worker')}, ${count(jobs, 'job')} left${until}` : 'drained';
  const kept = pods > 0 ? `, ${count(pods, 'pod')} ${pods === 1 ? 'stays' : 'stay'}` : '';
  return `${state}${kept}${reason === '' ? '' : ` (${printable(reason)})`}`;
}

const HANDOVERS: Record<GpuHandover, string> = {
  [GpuHandover.UNSPECIFIED]: 'without GPUs',
  [GpuHandover.CDI]: 'GPUs by CDI',
  [GpuHandover.DEVICE_REQUEST]: 'GPUs by device request',
  [GpuHandover.VIRTUAL]: 'virtual GPUs',
};

/** Returns what a machine runs: `images (podman 4.3.1, GPUs by CDI), commands`. */
export function runsText({ containerEngine: engine, runsCommands, gpus }: Machine): string {
  const handover = gpus.length === 0 || !engine ? '' : `, ${HANDOVERS[engine.gpuHandover]}`;
  return (
    [
      ...(engine ? [`images (${engine.name} ${engine.version}${handover})`] : []),
      ...(runsCommands ? ['commands'] : []),
    ].join(', ') || 'nothing'
  );
}

/** Returns the disk of images: `120 of 500 GiB`. */
export function imageSpace({ containerEngine: engine }: Machine): string {
  return !engine || engine.imageTotalMib === 0
    ? ''
    : `${memory(engine.imageFreeMib) || '0 GiB'} of ${memory(engine.imageTotalMib)}`;
}

/** Returns the GPUs by kind: `2 × NVIDIA L4 24 GiB`. */
export function gpuText(gpus: readonly Gpu[]): string {
  const kinds = gpus.map(({ name, memoryMib, migProfile }) =>
    [name, migProfile, memory(memoryMib)].filter(Boolean).join(' '),
  );
  return [...new Set(kinds)].map((kind) => `${kinds.filter((other) => other === kind).length} × ${kind}`).join(', ');
}

/** Returns the load of a GPU, as far as its driver reports it: `87 %, 61 GiB, 54 °C, 402 W`. */
export function loadText(load: GpuLoad | undefined): string {
  const { utilization, memoryUsedMib, temperatureCelsius, powerWatts } = load ?? {};
  return [
    utilization === undefined ? '' : `${Math.round(utilization * 100)} %`,
    memory(memoryUsedMib ?? 0),
    temperatureCelsius === undefined ? '' : `${temperatureCelsius} °C`,
    powerWatts === undefined ? '' : `${Math.round(powerWatts)} W`,
  ]
    .filter(Boolean)
    .join(', ');
}

/**
 * Returns the use of processors, memory and GPUs by a worker: `0.5 CPU, 312 MiB; GPU 87 %, 61 GiB`. Says so of a ready
 * worker whose processors and memory are not measured, as in Kubernetes without a metrics server.
 */
export function workerLoadText({ load, gpuLoads, state, standbyLevel }: Worker): string {
  const { processors, memoryUsedMib = 0 } = load ?? {};
  const runs = state === WorkerState.READY && standbyLevel === StandbyLevel.UNSPECIFIED;
  const own = load
    ? [processors === undefined ? '' : `${processors.toFixed(1)} CPU`, memory(memoryUsedMib)]
    : [runs ? 'CPU not measured' : ''];
  const gpus = gpuLoads.map((each) => loadText({ ...each, temperatureCelsius: undefined }));
  return [own.filter(Boolean).join(', '), ...gpus.filter(Boolean).map((text) => `GPU ${text}`)]
    .filter(Boolean)
    .join('; ');
}

/** Returns the record for programs. */
export function presentMachine({ machine, connected, cordoned, seenTime, gpuLoads, drain, labels }: MachineStatus) {
  const { containerEngine: engine, ...rest } = machine!;
  // The engine with the name of its hand-over, or null if there is none.
  const containerEngine = engine ? { ...engine, gpuHandover: enumName(GpuHandover, engine.gpuHandover) } : null;
  return {
    ...rest,
    labels,
    containerEngine,
    connected,
    cordoned,
    drain: drain ?? null,
    seenAt: seenTime?.toISOString(),
    gpuLoads,
  };
}
