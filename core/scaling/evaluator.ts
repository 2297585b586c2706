/** Evaluates endpoints: samples them without a lock, and returns those for which a reconcile would change something. */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import type { Clock } from '@slipway/kit/time/clock';
import { withKnownIdleness } from '../domain/scaling/known-idleness.ts';
import { nextEvaluation } from '../domain/scaling/next-evaluation.ts';
import { isLocalImage, withImages } from '../domain/scaling/placement-machine.ts';
import { preemptibleWorkers } from '../domain/scaling/preemption.ts';
import type { Scaler } from '../domain/scaling/scaler.ts';
import { mayMoveLater, movableWorkers } from '../domain/scaling/standby-restore.ts';
import type { EndpointSample } from '../store/scaling/scale-samples.ts';
import type { Stores } from '../store/storage.ts';
import { EvaluationTimers } from './evaluation-timers.ts';
import { PreemptibleWorkers } from './preemptible-workers.ts';
import { isStillUnplaceable, isUpToDate, knownIdleMs, placeableTogether } from './reconcile.ts';
import type { QueuedReconcile, WorkQueue } from './work-queue.ts';

/** Most other endpoints that are evaluated because one waits for GPUs. */
const HOLDERS_MAX = 100;

/** Dependencies of the evaluator. */
interface EvaluatorOptions {
  store: Stores['scales'];
  scaler: Scaler;
  /** The singleton task of the resync. */
  task: SingletonTask;
  queue: Pick<WorkQueue, 'isQueued' | 'running'>;
  /** Returns for how many milliseconds facades and edges have been able to report requests. Default: for ever. */
  linksStableMs?(): number;
  /** Called when an endpoint must be evaluated again although no event happens. */
  onDue(endpointId: string): void;
  /** Called for each evaluated endpoint that has workers, ready or starting. */
  onStarting(endpointId: string): void;
  clock: Clock;
}

export class Evaluator {
  readonly #options: EvaluatorOptions;
  /** Timers of the next evaluations. */
  readonly timers: EvaluationTimers;
  /** Workers that may be preempted. Empty at replicas without the singleton task, which do not see all endpoints. */
  readonly preemptible = new PreemptibleWorkers();
  /** Workers that may be offloaded for others. Empty at such replicas too. */
  readonly movable = new PreemptibleWorkers();
  /** Endpoints with running workers that may be offloaded now or later. */
  readonly #holders = new Set<string>();

  constructor(options: EvaluatorOptions) {
    this.#options = options;
    this.timers = new EvaluationTimers(options.clock, options.onDue);
  }

  stop(): void {
    this.timers.stop();
  }

  /** Returns for how long workers without a report are known to be idle, in milliseconds. */
  knownIdleMs(): number {
    return knownIdleMs(this.#options.linksStableMs?.() ?? Infinity);
  }

  /** Forgets all endpoints but these. */
  keepOnly(endpointIds: ReadonlySet<string>): void {
    this.preemptible.keepOnly(endpointIds);
    this.movable.keepOnly(endpointIds);
    for (const id of this.#holders) if (!endpointIds.has(id)) this.#holders.delete(id);
    this.timers.keepOnly(endpointIds);
  }

  #updateMovable({
    endpoint: { id },
    sample: { demand, settings },
  }: Pick<EndpointSample, 'endpoint' | 'sample'>): void {
    if (mayMoveLater(demand, settings)) this.#holders.add(id);
    else this.#holders.delete(id);
    this.movable.update(
      id,
      movableWorkers(demand, settings).map((worker) => worker.id),
    );
  }

  /** Finds out which workers of other endpoints may be offloaded now. Their last evaluation may be a second old. */
  async #evaluateHolders(known: readonly string[], knownMs: number): Promise<void> {
    const ids = [...this.#holders].filter((id) => !known.includes(id)).slice(0, HOLDERS_MAX);
    for (const one of await this.#options.store.sample(ids))
      this.#updateMovable({ ...one, sample: withKnownIdleness(one.sample, knownMs) });
  }

  /**
   * Returns the endpoints that need a reconcile. Endpoints with a queued or running reconcile are left out. `unplaced`:
   * endpoints that only wait for free capacity. Of these, no more are returned than can be placed now.
   */
  async evaluate(endpointIds: readonly string[], unplaced: readonly string[] = []): Promise<QueuedReconcile[]> {
    const { store, scaler, clock, task, queue } = this.#options;
    const ids = endpointIds.filter((id) => !queue.running(id) && !queue.isQueued(id));
    if (task.mine) this.timers.begin(ids);
    const knownMs = this.knownIdleMs();
    const samples = (await store.sample(ids)).map((one) => ({
      ...one,
      sample: withKnownIdleness(one.sample, knownMs),
    }));
    const now = clock.monotonicMs();
    for (const { endpoint, sample } of samples) {
      if (sample.demand.workers.some(({ desired }) => desired === 'RUN')) this.#options.onStarting(endpoint.id);
      const preemptible = task.mine ? preemptibleWorkers(sample.demand, sample.settings) : [];
      this.preemptible.update(
        endpoint.id,
        preemptible.map(({ id }) => id),
      );
      if (task.mine) this.#updateMovable({ endpoint, sample });
    }
    if (task.mine && samples.some(waitsForGpus)) await this.#evaluateHolders(ids, knownMs);
    const outdated = samples.filter(({ sample, previous }) => !isUpToDate(sample, previous, scaler));
    const throttled = outdated
      .filter(({ previous }) => previous && previous.throttled > 0)
      .map(({ endpoint }) => endpoint);
    const needsGpus = throttled.filter(({ gpuCount }) => gpuCount > 0);
    const [machines, images, crashes, movable] = await Promise.all([
      throttled.length > 0 ? store.machineView() : undefined,
      store.imageMachines(throttled.filter(({ imageName }) => isLocalImage(imageName))),
      store.crashes(throttled),
      store.movable(needsGpus.length > 0 ? this.movable.ofOthers('') : []),
    ]);
    const seenBy = (endpoint: EndpointSample['endpoint']) => machines && withImages(machines, images.of(endpoint));
    const ofOthers = (endpointId: string) => {
      const ids = new Set(this.movable.ofOthers(endpointId));
      return movable.filter(({ id }) => ids.has(id));
    };
    for (const { endpoint, sample, previous } of samples) {
      const isThrottled = (previous?.throttled ?? 0) > 0;
      this.timers.update(endpoint.id, nextEvaluation(sample, isThrottled, crashes.get(endpoint.id) ?? []));
    }
    const mayPreempt = ({ id, gpuCount }: { id: string; gpuCount: number }): boolean =>
      gpuCount > 0 && this.preemptible.mayPreemptNow(id, now);
    const due = outdated.filter(
      (one) =>
        !isStillUnplaceable(
          one,
          seenBy(one.endpoint),
          crashes.get(one.endpoint.id) ?? [],
          scaler,
          ofOthers(one.endpoint.id),
        ) || mayPreempt(one.endpoint),
    );
    if (unplaced.length === 0 || !machines) return due;
    const byId = new Map(due.map((one) => [one.endpoint.id, one]));
    const placeable = placeableTogether(
      unplaced.flatMap((id) => byId.get(id) ?? []),
      machines,
      crashes,
      (endpoint) => images.of(endpoint),
    );
    return [...due.filter(({ endpoint }) => !unplaced.includes(endpoint.id)), ...placeable];
  }
}

/** Returns whether jobs of an endpoint wait while none of its workers runs. */
function waitsForGpus({ endpoint, sample: { demand } }: Pick<EndpointSample, 'endpoint' | 'sample'>): boolean {
  return endpoint.gpuCount > 0 && demand.queued > 0 && !demand.workers.some(({ desired }) => desired === 'RUN');
}
