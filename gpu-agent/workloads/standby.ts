/**
 * Puts a workload into standby and back: freezes it, moves its GPU memory to host memory, restores it and resumes it.
 */
import type { Logger } from '@slipway/kit/log/logger';
import type { RunningWorkload } from '../executors/executor.ts';
import type { ObservedState } from './observed-state.ts';
import type { Phase } from './step.ts';
import type { WorkloadKind } from './workload-kind.ts';

/** The workload, as its driver sees it. */
interface StandbyParts {
  kind: Pick<WorkloadKind, 'ids' | 'memory'>;
  is: ObservedState;
  /** Returns what runs. `undefined` if it has ended. */
  running(): RunningWorkload | undefined;
  /** Returns the GPUs that others still use, and resolves when they have left them. */
  freeGpus(): Promise<void>;
  enter(phase: Phase): void;
  /** Ends it at once. `reason`: a sentence for people; absent if its memory has given one. */
  kill(reason?: string): void;
  logger: Logger;
}

export class Standby {
  readonly #parts: StandbyParts;

  constructor(parts: StandbyParts) {
    this.#parts = parts;
  }

  async freeze(): Promise<void> {
    const { is, kind, enter, logger } = this.#parts;
    enter('freezing');
    try {
      await this.#parts.running()?.freeze();
      if (is.phase === 'freezing') enter('frozen');
    } catch (error) {
      logger.warn({ err: error, ...kind.ids }, 'could not be frozen, will try again');
      is.retryLater();
      if (is.phase === 'freezing') enter('running');
    }
  }

  async thaw(): Promise<void> {
    const { kind, enter, kill, logger } = this.#parts;
    enter('running');
    await this.#parts
      .running()
      ?.thaw()
      .catch((error: unknown) => {
        logger.error({ err: error, ...kind.ids }, 'could not be thawed and is ended');
        kill(`It could not be resumed from standby: ${wordsOf(error)}.`);
      });
  }

  /** Moves its GPU memory to host memory and freezes it. If that fails, it is ended. */
  async offload(): Promise<void> {
    const { is, kind, enter, kill } = this.#parts;
    const running = this.#parts.running();
    const wasFrozen = is.phase === 'frozen';
    enter('offloading');
    const isDone = running !== undefined && ((await kind.memory?.offload(running, wasFrozen)) ?? false);
    if (is.phase !== 'offloading') return;
    if (isDone) enter('offloaded');
    else kill();
  }

  /** Moves its GPU memory back and resumes it. If that fails, it is ended. */
  async restore(): Promise<void> {
    const { is, kind, enter, kill } = this.#parts;
    const running = this.#parts.running();
    enter('restoring');
    await this.#parts.freeGpus();
    const isDone = running !== undefined && ((await kind.memory?.restore(running)) ?? false);
    if (is.phase !== 'restoring') return;
    if (isDone) enter('running');
    else kill();
  }

  /** Freezes an adopted workload whose GPU memory is in host memory: its executor may have thawed it. */
  async refreeze(running: RunningWorkload): Promise<void> {
    const { kind, kill, logger } = this.#parts;
    await running.freeze().catch((error: unknown) => {
      logger.error({ err: error, ...kind.ids }, 'could not be frozen again and is ended');
      kill(`Its agent came back and could not freeze it again: ${wordsOf(error)}.`);
    });
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
