/**
 * What a starting agent does with the containers that the run before left. Within that run's lease it takes its workers
 * up, and their attempts go on as if nothing had been. After it core has given the attempts away, so they are ended
 * before anything else happens. Pods belong to this machine whatever happened, and always go on.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts, someWorkers } from '@slipway/kit/log/logger';
import type { TakeUpParts } from './attempts/take-up.ts';
import { dropAll, takeUp } from './attempts/take-up.ts';
import type { ContainerHost } from './container-host.ts';
import type { Lease } from './session/lease.ts';
import type { LastRun } from './spool/run-log.ts';
import type { PodRegistry } from './units/pods/pod-registry.ts';

/** What it works with. */
export interface TakeoverParts extends TakeUpParts {
  pods: PodRegistry;
  containers: ContainerHost;
  lease: Lease;
  logger: Logger;
}

export class Adoption {
  readonly #parts: TakeoverParts;
  #last: LastRun | undefined;
  /** Its workers were adopted, or ended. */
  #begun = false;
  /** The lease ran out before that. */
  #late = false;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  /**
   * Reads what was left, and goes on with the lease of the run before. Workers can be spoken to from here on: to be
   * called before they can reach the bridge.
   */
  async open(): Promise<void> {
    const { runLog, lease, clock } = this.#parts;
    const last = await runLog.open();
    this.#last = last;
    if (last.workers.size === 0 || this.#leftMs > 0) takeUp(last, this.#parts);
    else dropAll(last, runLog);
    const { run } = last;
    if (last.workers.size === 0 || this.#leftMs === 0 || run?.leaseFromMs === undefined) return;
    lease.resume(run.leaseFromMs - (clock.machineMs() - clock.monotonicMs()), run.leaseMs);
  }

  /**
   * Returns how long the session may wait for the inventory, in milliseconds; `undefined` if no lease is to be kept.
   * With pods it waits to the end: a hello must list them, and which of them run the engine has to say first.
   */
  get patienceMs(): number | undefined {
    const { pods, workers } = this.#last!;
    return workers.size > 0 && pods.size === 0 && this.#leftMs > 0 ? this.#leftMs / 2 : undefined;
  }

  /** The lease ran out. Returns whether the workers are still to be adopted: then they will be ended instead. */
  expire(): boolean {
    this.#late ||= !this.#begun;
    return !this.#begun;
  }

  /** Units that nobody may remove yet, and for how long it is worth to wait for their engine, in milliseconds. */
  get left(): { units: ReadonlySet<string>; waitMs: number } {
    const { pods, workers } = this.#last!;
    const isHeld = this.#holdsLease;
    return {
      units: new Set([...pods.keys(), ...(isHeld ? workers.keys() : [])]),
      waitMs: workers.size > 0 && isHeld ? this.#leftMs : 0,
    };
  }

  /** Port at which the workers look for the bridge on this address of the host; 0: none does. */
  formerPort(address: string): number {
    const url = this.#last?.run?.bridge;
    return url && this.#holdsLease && new URL(url).hostname === address ? Number(new URL(url).port) : 0;
  }

  /** Takes up what still runs, and ends the rest. Containers must have started. */
  async begin(): Promise<void> {
    const { pool, pods, containers, runLog, logger } = this.#parts;
    const { workers, pods: formerPods } = this.#last!;
    const { executor } = containers;
    const disowned = workers.size === 0 ? undefined : this.#hindrance();
    if (disowned !== undefined) {
      logger.warn({ ...someWorkers(workers.keys()), reason: disowned }, 'workers of the run before are ended');
      await executor?.sweep(new Set(formerPods.keys()));
    }
    this.#begun = true;
    await pool.begin(disowned);
    const running = (await executor?.running()) ?? new Set();
    for (const [podId, pod] of formerPods) {
      if (running.has(podId)) pods.takeUp(podId, pod);
      else runLog.pod(podId, undefined);
    }
    containers.keepNothing();
    const taken = pool.all().filter((worker) => worker.isRunning).length;
    const attempts = someAttempts(this.#parts.table.all().map(({ ref }) => ref));
    if (taken + running.size > 0) logger.info({ workers: taken, ...attempts }, 'took up what the run before left');
  }

  /** Tells the next run that this one lives. Called often; costs nothing while nothing would outlive it. */
  beat(): void {
    const { runLog, containers, lease, clock } = this.#parts;
    if (!runLog.keepsAny) return;
    const { bridge, isPatient } = (this.#begun ? undefined : this.#last?.run) ?? {
      bridge: containers.bridgeUrl,
      isPatient: containers.isPatient,
    };
    const aliveMs = clock.machineMs();
    const { heldFromMs, lengthMs } = lease;
    runLog.run({
      bridge,
      isPatient,
      aliveMs,
      leaseMs: lengthMs,
      ...(heldFromMs !== undefined && { leaseFromMs: Math.floor(heldFromMs + aliveMs - clock.monotonicMs()) }),
    });
  }

  /**
   * This run ends, and its containers go on. `drain` tells whether all that they had begun to send was taken; else the
   * next run must know.
   */
  async leave(drain: () => Promise<boolean>): Promise<void> {
    if (!(await drain())) this.#parts.containers.mayLose();
    this.beat();
  }

  /**
   * How long the lease of the run before still lasts, in milliseconds. Of a run before this machine's last start
   * nothing is left.
   */
  get #leftMs(): number {
    const { run } = this.#last!;
    const nowMs = this.#parts.clock.machineMs();
    return run?.leaseFromMs === undefined || run.aliveMs > nowMs
      ? 0
      : Math.max(0, run.leaseFromMs + run.leaseMs - nowMs);
  }

  /** The lease of the run before goes on, or still lasts though it left no workers. */
  get #holdsLease(): boolean {
    return !this.#late && (this.#parts.lease.heldFromMs !== undefined || this.#leftMs > 0);
  }

  #hindrance(): string | undefined {
    const { containers } = this.#parts;
    if (!this.#holdsLease) return 'Its agent came back when its lease was over.';
    if (!containers.executor || containers.bridgeUrl === '')
      return `Its agent came back and found no container engine: ${containers.has.noEngineReason}`;
    if (containers.bridgeUrl !== this.#last!.run!.bridge)
      return 'Its agent came back, and another program had taken the address where workers look for it.';
    return undefined;
  }
}
