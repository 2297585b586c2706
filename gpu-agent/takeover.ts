/**
 * What a starting agent does with the containers that the run before left. Within that run's lease it takes its workers up, and their attempts go on
 * as if nothing had been. After it core has given the attempts away, so they are ended before anything else happens. Pods belong to this machine
 * whatever happened, and always go on.
 */
import { someAttempts, someWorkers } from '../core/runtime/logger.ts';
import type { Logger } from '../core/runtime/logger.ts';
import { dropAll, takeUp } from './attempts/take-up.ts';
import type { TakeUpParts } from './attempts/take-up.ts';
import type { ContainerHost } from './container-host.ts';
import type { Lease } from './session/lease.ts';
import type { LastRun } from './spool/run-log.ts';
import type { PodKeeper } from './units/pods/pod-keeper.ts';

/** What it works with. */
export interface TakeoverParts extends TakeUpParts {
  pods: PodKeeper;
  containers: ContainerHost;
  lease: Lease;
  logger: Logger;
}

export class Takeover {
  readonly #parts: TakeoverParts;
  #last: LastRun | undefined;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  /** Reads what was left. Workers can be spoken to from here on: to be called before they can reach the bridge. */
  async open(): Promise<void> {
    const { runLog } = this.#parts;
    const last = await runLog.open();
    this.#last = last;
    if (last.workers.size === 0 || this.#leftMs > 0) takeUp(last, this.#parts);
    else dropAll(last, runLog);
  }

  /** Units that nobody may remove yet, and for how long it is worth to wait for their engine, in milliseconds. */
  get left(): { units: ReadonlySet<string>; waitMs: number } {
    const { pods, workers } = this.#last!;
    const waitMs = this.#leftMs;
    return { units: new Set([...pods.keys(), ...waitMs > 0 ? workers.keys() : []]), waitMs: workers.size > 0 ? waitMs : 0 };
  }

  /** Port at which the workers look for the bridge on this address of the host; 0: none does. */
  formerPort(address: string): number {
    const url = this.#last?.run?.bridge;
    return url && this.#leftMs > 0 && new URL(url).hostname === address ? Number(new URL(url).port) : 0;
  }

  /** Takes up what still runs, and ends the rest. Containers must have started. */
  async begin(): Promise<void> {
    const { pool, pods, containers, lease, clock, runLog, logger } = this.#parts;
    const { run, workers, pods: formerPods } = this.#last!;
    const { executor } = containers;
    const disowned = workers.size === 0 ? undefined : this.#hindrance();
    if (disowned !== undefined) {
      logger.warn({ ...someWorkers(workers.keys()), reason: disowned }, 'workers of the run before are ended');
      await executor?.sweep(new Set(formerPods.keys()));
    } else if (run?.leaseFromMs !== undefined && workers.size > 0) {
      lease.resume(run.leaseFromMs - (clock.machineMs() - clock.monotonicMs()), run.leaseMs);
    }
    await pool.begin(disowned);
    const running = await executor?.running() ?? new Set();
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
    const aliveMs = clock.machineMs();
    const { heldFromMs, lengthMs } = lease;
    runLog.run({
      bridge: containers.bridgeUrl, isPatient: containers.isPatient, aliveMs, leaseMs: lengthMs,
      ...(heldFromMs !== undefined && { leaseFromMs: Math.floor(heldFromMs + aliveMs - clock.monotonicMs()) }),
    });
  }

  /** This run ends, and its containers go on. `drain` tells whether all that they had begun to send was taken; else the next run must know. */
  async leave(drain: () => Promise<boolean>): Promise<void> {
    if (!await drain()) this.#parts.containers.mayLose();
    this.beat();
  }

  /** How long the lease of the run before still lasts, in milliseconds. Of a run before this machine's last start nothing is left. */
  get #leftMs(): number {
    const { run } = this.#last!;
    const nowMs = this.#parts.clock.machineMs();
    return run?.leaseFromMs === undefined || run.aliveMs > nowMs ? 0 : Math.max(0, run.leaseFromMs + run.leaseMs - nowMs);
  }

  #hindrance(): string | undefined {
    const { containers } = this.#parts;
    if (this.#leftMs === 0) return 'Its agent came back when its lease was over.';
    if (!containers.executor || containers.bridgeUrl === '') return `Its agent came back and found no container engine: ${containers.has.noEngineReason}`;
    if (containers.bridgeUrl !== this.#last!.run!.bridge) return 'Its agent came back, and another program had taken the address where workers look for it.';
    return undefined;
  }
}
