/** Offloads and restores of the scripted agent, which moves nothing. It finds GPUs that two workers would use. */

import type { DesiredWorker, WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { GpuOffload } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { ScriptedAgentOptions } from './scripted-agent-options.ts';

export type Move = 'OFFLOAD' | 'RESTORE';

export class ScriptedMoves {
  readonly offloaded = new Set<string>();
  /** Starts and restores on a GPU that another worker still used. Must stay empty. */
  readonly conflicts: string[] = [];
  readonly #moving = new Set<string>();
  readonly #gpus = new Map<string, readonly string[]>();
  #draining = new Set<string>();
  #known: ReadonlyMap<string, string> = new Map();

  /** Records the desired workers. `known`: those that run. */
  desire(workers: readonly DesiredWorker[], known: ReadonlyMap<string, string>): void {
    for (const { workerId, spec } of workers) if (spec) this.#gpus.set(workerId, spec.gpuUuids);
    this.#draining = new Set(
      workers.filter(({ desired }) => desired === DesiredState.DRAIN).map(({ workerId }) => workerId),
    );
    this.#known = known;
  }

  /** Returns the move that a worker needs, `undefined` if none or if one is in progress. */
  due({ workerId, desired, standbyLevel }: Pick<DesiredWorker, 'workerId' | 'desired' | 'standbyLevel'>) {
    if (this.#moving.has(workerId)) return undefined;
    const isOffloaded = this.offloaded.has(workerId);
    if (desired === DesiredState.RUN) return isOffloaded ? 'RESTORE' : undefined;
    return desired === DesiredState.FREEZE && standbyLevel === StandbyLevel.HOST && !isOffloaded
      ? 'OFFLOAD'
      : undefined;
  }

  /** Makes a move. Returns what the agent reports of it. */
  async run(
    move: Move,
    worker: { workerId: string; endpointId: string },
    { onMove, gpuBytes: bytes = 0, capacity = 1 }: ScriptedAgentOptions,
  ): Promise<Partial<WorkerReport>> {
    const { workerId } = worker;
    this.#moving.add(workerId);
    if (move === 'RESTORE') this.checkGpus('restore', workerId);
    const offloadFailure = await onMove?.(move, workerId);
    this.#moving.delete(workerId);
    if (offloadFailure || move === 'RESTORE') this.offloaded.delete(workerId);
    else this.offloaded.add(workerId);
    const report = { ...worker, gpuMemoryBytes: bytes };
    if (offloadFailure) return { ...report, state: WorkerState.UNHEALTHY, offloadFailure, reason: 'its move failed' };
    if (move === 'RESTORE')
      return { ...report, state: WorkerState.READY, capacity, lastRestore: { bytes, durationMs: 2_400 } };
    const at = { state: WorkerState.FROZEN, standbyLevel: StandbyLevel.HOST };
    return { ...report, ...at, lastOffload: { bytes, durationMs: 5_300 } };
  }

  /**
   * Records a conflict if another worker is on a GPU of this one. An agent must not start a worker beside one that
   * drains.
   */
  checkGpus(what: string, workerId: string): void {
    for (const [other, uuids] of this.#gpus) {
      const isThere =
        other !== workerId && this.#known.has(other) && !this.#draining.has(other) && !this.offloaded.has(other);
      if (isThere && uuids.some((uuid) => this.#gpus.get(workerId)?.includes(uuid)))
        this.conflicts.push(`${what} of ${workerId} beside ${other}`);
    }
  }
}

/** Offload of a machine: anything, unless the test says otherwise. */
export function offloadOf(given: Partial<GpuOffload>): GpuOffload {
  return {
    supported: true,
    unsupportedReason: '',
    standbyMemoryBytes: 64 * 2 ** 30,
    standbyMemoryUsedBytes: 0,
    ...given,
  };
}
