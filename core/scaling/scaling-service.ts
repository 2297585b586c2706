/**
 * Scaling of endpoints (core/scaling/README.md). Two loops find endpoints to reconcile: the trigger reacts to events,
 * the resync finds periodically what no event reported. Both evaluate endpoints and put ones that need a change into
 * one work queue. Any replica may reconcile any endpoint; the row lock of the endpoint keeps two from doing it at once.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Scaler } from '../domain/scaling/scaler.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { TransactionMonitor } from '../store/scaling/transaction-monitor.ts';
import type { Stores } from '../store/storage.ts';
import { Evaluator } from './evaluator.ts';
import type { ReconcileResult } from './reconcile.ts';
import { reconcileEndpoints } from './reconcile.ts';
import { reconcileBatch } from './reconcile-batch.ts';
import type { WatchdogMeter } from './reconcile-watchdog.ts';
import { ReconcileWatchdog } from './reconcile-watchdog.ts';
import { ResyncLoop } from './resync.ts';
import { TriggerLoop } from './trigger.ts';
import { WorkQueue } from './work-queue.ts';

/** Dependencies and settings of scaling. */
interface ScalingOptions {
  store: Stores['scales'];
  scaler: Scaler;
  events: CoreEvents;
  /** The singleton task of the resync. */
  task: SingletonTask;
  /** Returns whether this replica has sessions of workers of an endpoint. Its queued jobs then need no reconcile. */
  hasWorker(endpointId: string): boolean;
  /** Returns for how many milliseconds facades and edges have been able to report requests. Default: for ever. */
  linksStableMs?(): number;
  /** Called after the desired workers of machines changed. Other replicas are notified too. */
  onDesired(machineIds: readonly string[]): void;
  /** Default: no metrics. */
  meter?: ScaleMeter;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Metrics of reconciles. */
export interface ScaleMeter extends WatchdogMeter {
  /** Counts a reconcile of one endpoint. */
  onReconcile(result: ReconcileResult): void;
}

export class ScalingService extends BaseService {
  readonly name = 'scaling';
  readonly #options: ScalingOptions;
  readonly #watchdog: ReconcileWatchdog;
  readonly #queue = new WorkQueue((endpointIds) =>
    reconcileBatch(endpointIds, (ids) => this.#watchdog.run(ids, (monitor) => this.#reconcile(monitor, ids))),
  );
  readonly #evaluator: Evaluator;
  readonly #trigger: TriggerLoop;
  readonly #resync: ResyncLoop;

  constructor(options: ScalingOptions) {
    super();
    this.#options = options;
    this.#watchdog = new ReconcileWatchdog(options);
    this.#evaluator = new Evaluator({
      ...options,
      queue: this.#queue,
      onDue: (endpointId) => this.trigger([endpointId]),
      onStarting: (endpointId) => this.#trigger.startsWorkers(endpointId),
    });
    const deps = { ...options, queue: this.#queue, evaluator: this.#evaluator };
    this.#trigger = new TriggerLoop(deps);
    this.#resync = new ResyncLoop(deps);
  }

  protected override async onStart(): Promise<void> {
    await Promise.all([this.#trigger.start(), this.#resync.start()]);
  }

  protected override async onStop(): Promise<void> {
    await Promise.all([this.#queue.stop(), this.#trigger.stop(), this.#resync.stop()]);
    this.#evaluator.stop();
  }

  /** Evaluates these endpoints as soon as possible. */
  trigger(endpointIds: readonly string[]): void {
    this.#trigger.add(endpointIds);
  }

  /** Reconciles endpoints in one transaction. Returns whether it was committed. */
  async #reconcile(monitor: TransactionMonitor, endpointIds: readonly string[]): Promise<boolean> {
    const { store, scaler, random } = this.#options;
    const requests = endpointIds.map((endpointId) => ({
      endpointId,
      preemptible: this.#evaluator.preemptible.ofOthers(endpointId),
      movable: this.#evaluator.movable.ofOthers(endpointId),
    }));
    const results = await reconcileEndpoints(store, requests, scaler, random, monitor, this.#evaluator.knownIdleMs());
    if (!results) return false;
    const machineIds = new Set([...results.values()].flatMap((result) => result.machineIds));
    if (machineIds.size > 0) this.#options.onDesired([...machineIds]);
    const changed = [...results].filter(([endpointId, result]) => this.#report(endpointId, result));
    await store.pruneEnded(changed.map(([endpointId]) => endpointId));
    return true;
  }

  /** Reports a reconcile to logs, metrics and listeners. Returns whether workers changed. */
  #report(endpointId: string, result: ReconcileResult): boolean {
    const { logger, events, meter } = this.#options;
    meter?.onReconcile(result);
    const { added, drained, retired, resumed, frozen, preempted, throttled, reason, rollout } = result;
    const { offloaded, restored, late } = result;
    for (const workerId of late)
      logger.warn({ endpointId, workerId }, 'a move of GPU memory took too long, the worker is ended');
    if (rollout?.state) {
      const { version, state, failedId } = rollout;
      logger.info({ endpointId, version, state, workerId: failedId }, 'rollout state changed');
    }
    // The scaled version changed.
    if (rollout) this.trigger([endpointId]);
    if (drained.length + retired.length > 0) events.emit('rotation', [endpointId]);
    if (drained.length + retired.length + frozen.length > 0) this.#trigger.lostWorkers(endpointId);
    const changed = [added, drained, retired, resumed, frozen, preempted, offloaded, restored].some(
      ({ length }) => length > 0,
    );
    if (changed) {
      const workers = { added, drained, retired, resumed, frozen, preempted, offloaded, restored };
      logger.info({ endpointId, ...workers, throttled, reason }, 'workers changed');
    }
    return changed;
  }
}
