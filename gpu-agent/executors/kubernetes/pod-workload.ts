/** A running Pod as a workload: its end, its output, and the commands it receives. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { RunningWorkload, WorkloadExit, WorkloadUse } from '../executor.ts';
import type { ApiClient } from './api-client.ts';
import type { PodEnder } from './pod-ender.ts';
import { PodLog } from './pod-log.ts';
import { chosenGpus, exitOfGone, phaseOf } from './pod-state.ts';
import type { PodUses } from './pod-uses.ts';
import type { TrackedPod } from './tracked-pod.ts';

/** Options of a PodWorkload. */
interface PodWorkloadOptions {
  tracked: TrackedPod;
  ender: PodEnder;
  api: ApiClient;
  namespace: string;
  uses: Pick<PodUses, 'of'>;
  onOutput(bytes: Buffer): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Kubernetes has no standby. */
export const NO_STANDBY = 'Kubernetes cannot freeze a Pod: machines that are its nodes have no standby (FlashBoot)';

export class PodWorkload implements RunningWorkload {
  readonly ended: Promise<WorkloadExit>;
  readonly #options: PodWorkloadOptions;
  readonly #log: PodLog;
  readonly #released = new AbortController();

  constructor(options: PodWorkloadOptions) {
    this.#options = options;
    const { tracked } = options;
    this.#log = new PodLog({ ...options, pod: tracked.workloadId, isLive: () => this.#exit() === undefined });
    this.ended = this.#follow();
  }

  get address(): string {
    return this.#options.tracked.latest.status?.podIP ?? '';
  }

  stop(): void {
    const { ender, tracked } = this.#options;
    void ender.end(tracked, 'SIGTERM');
  }

  kill(): void {
    const { ender, tracked } = this.#options;
    void ender.end(tracked, 'SIGKILL');
  }

  async freeze(): Promise<void> {
    throw new Error(NO_STANDBY);
  }

  async thaw(): Promise<void> {}

  /** Returns none: the processes may be on another node. */
  async pids(): Promise<number[]> {
    return [];
  }

  use(): Promise<WorkloadUse | undefined> {
    const { uses, tracked } = this.#options;
    return uses.of(tracked.workloadId);
  }

  async stats(): Promise<undefined> {
    return undefined;
  }

  /** Detaches from the Pod: it runs on, and nothing more is reported of it. */
  release(): void {
    this.#released.abort();
    this.#log.close();
  }

  async #follow(): Promise<WorkloadExit> {
    const { tracked } = this.#options;
    this.#log.start();
    void this.#logGpus();
    // A release rejects, and then no end may be reported.
    const exit = await tracked.until(() => this.#exit(), this.#released.signal).catch(() => undefined);
    if (!exit) return new Promise<never>(() => undefined);
    await this.#log.finish();
    return exit;
  }

  /** Logs which GPUs the device plugin chose, which core cannot know: it only counts them. */
  async #logGpus(): Promise<void> {
    const { tracked, logger } = this.#options;
    const chosen = (): string[] | undefined => {
      const uuids = chosenGpus(tracked.latest);
      return uuids.length > 0 || this.#exit() ? uuids : undefined;
    };
    const uuids = await tracked.until(chosen, this.#released.signal).catch(() => []);
    if (uuids.length > 0) logger.info({ workloadId: tracked.workloadId, uuids }, 'the device plugin chose the GPUs');
  }

  /** Returns how it ended; `undefined` while the API has not said that it has. */
  #exit(): WorkloadExit | undefined {
    const { latest, isGone, asked } = this.#options.tracked;
    const phase = phaseOf(latest);
    if (phase.is === 'over') return phase.exit;
    return isGone ? exitOfGone(latest, asked) : undefined;
  }
}
