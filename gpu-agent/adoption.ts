/**
 * Handles the containers that the previous run of the agent left. While that run's lease lasts, its workers are adopted
 * and their attempts run without interruption. After the lease, core has given the attempts to others, so the workers
 * are ended before anything else happens. Pods belong to this machine in any case and always continue.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts, someWorkers } from '@slipway/kit/log/logger';
import type { AdoptAttemptsParts } from './attempts/adopt-attempts.ts';
import { adopt, dropAllAttempts } from './attempts/adopt-attempts.ts';
import type { ImageHost } from './hosts/image-host.ts';
import type { Lease } from './session/lease.ts';
import type { LastRun } from './spool/run-log.ts';
import type { PodRegistry } from './workloads/pods/pod-registry.ts';

/** Dependencies of the adoption. */
interface AdoptionParts extends AdoptAttemptsParts {
  pods: PodRegistry;
  containers: ImageHost;
  lease: Lease;
  logger: Logger;
}

/** Wait for the engine while a session keeps the lease, in milliseconds: an engine may be busy for tens of seconds. */
const ENGINE_MS = 30_000;

export class Adoption {
  readonly #parts: AdoptionParts;
  #last: LastRun | undefined;
  /** The workers of the previous run were adopted or ended. */
  #begun = false;
  /** The lease ran out before that. */
  #tooLate = false;

  constructor(parts: AdoptionParts) {
    this.#parts = parts;
  }

  /**
   * Reads what the previous run left and continues its lease. From here on, workers can be called. Must be called
   * before the workers can reach the bridge.
   */
  async open(): Promise<void> {
    const { runLog, pods, lease, clock } = this.#parts;
    const last = await runLog.open();
    this.#last = last;
    for (const [podId, pod] of last.pods) pods.adopt(podId, pod);
    if (last.workers.size === 0 || this.#leftMs > 0) adopt(last, this.#parts);
    else dropAllAttempts(last, runLog);
    const { run } = last;
    if (last.workers.size === 0 || this.#leftMs === 0 || run?.leaseFromMs === undefined) return;
    lease.resume(run.leaseFromMs - (clock.machineMs() - clock.monotonicMs()), run.leaseMs);
  }

  /**
   * Returns how long the session may wait for inventory and adoption, in milliseconds; `undefined` if there is no lease
   * to keep. Its hello then lists workers and pods as the previous run left them.
   */
  get patienceMs(): number | undefined {
    return this.#last!.workers.size > 0 && this.#leftMs > 0 ? this.#leftMs / 2 : undefined;
  }

  /**
   * Handles the end of the lease. Returns true if the workers have not been adopted yet; they will then be ended
   * instead.
   */
  expire(): boolean {
    this.#tooLate ||= !this.#begun;
    return !this.#begun;
  }

  /** Workloads that must not be removed yet, and how long to wait for their engine, in milliseconds. */
  get left(): { workloads: ReadonlySet<string>; waitMs: number } {
    const { pods, workers } = this.#last!;
    const isHeld = this.#holdsLease;
    const waitMs = Math.max(this.#leftMs, this.#parts.lease.heldFromMs === undefined ? 0 : ENGINE_MS);
    return {
      workloads: new Set([...pods.keys(), ...(isHeld ? workers.keys() : [])]),
      waitMs: workers.size > 0 && isHeld ? waitMs : 0,
    };
  }

  /** Returns the port at which the workers expect the bridge on this address of the host; 0 if no worker does. */
  previousPort(address: string): number {
    const url = this.#last?.run?.bridge;
    return url && this.#holdsLease && new URL(url).hostname === address ? Number(new URL(url).port) : 0;
  }

  /** Adopts what still runs and ends the rest. Containers must have started. */
  async begin(): Promise<void> {
    const { pool, pods, containers, runLog, logger } = this.#parts;
    const { workers, pods: previousPods } = this.#last!;
    const { executor } = containers;
    const rejection = workers.size === 0 ? undefined : this.#obstacle();
    if (rejection !== undefined) {
      logger.warn({ ...someWorkers(workers.keys()), reason: rejection }, 'workers of the previous run are ended');
      await executor?.sweep(new Set(previousPods.keys()));
    }
    this.#begun = true;
    await pool.begin(rejection);
    const running = (await executor?.running()) ?? new Set();
    for (const podId of previousPods.keys()) if (!running.has(podId)) runLog.pod(podId, undefined);
    pods.begin(running);
    containers.keepNothing();
    const taken = pool.all().filter((worker) => worker.isRunning).length;
    const attempts = someAttempts(this.#parts.table.all().map(({ ref }) => ref));
    if (taken + running.size > 0)
      logger.info({ workers: taken, pods: running.size, ...attempts }, 'adopted workers and pods of the previous run');
  }

  /**
   * Records for the next run that this run is alive. Called often; does nothing while no workload would outlive this
   * run.
   */
  beat(): void {
    const { runLog, containers, lease, clock } = this.#parts;
    if (!runLog.hasRecords) return;
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
   * Ends this run, but not its containers. `drain` resolves to true if everything that the containers had begun to
   * send was accepted; otherwise the next run must know.
   */
  async leave(drain: () => Promise<boolean>): Promise<void> {
    if (!(await drain())) this.#parts.containers.mayLose();
    this.beat();
  }

  /**
   * How long the previous run's lease still lasts, in milliseconds. 0 if that run was before this machine's last boot,
   * because nothing of it is left.
   */
  get #leftMs(): number {
    const { run } = this.#last!;
    const nowMs = this.#parts.clock.machineMs();
    return run?.leaseFromMs === undefined || run.aliveMs > nowMs
      ? 0
      : Math.max(0, run.leaseFromMs + run.leaseMs - nowMs);
  }

  /** True if the lease of the previous run continues, or still lasts although that run left no workers. */
  get #holdsLease(): boolean {
    return !this.#tooLate && (this.#parts.lease.heldFromMs !== undefined || this.#leftMs > 0);
  }

  #obstacle(): string | undefined {
    const { containers } = this.#parts;
    if (!this.#holdsLease) return 'Its agent came back when its lease was over.';
    if (!containers.executor || containers.bridgeUrl === '')
      return `Its agent came back and found no container engine: ${containers.has.noEngineReason}`;
    if (containers.bridgeUrl !== this.#last!.run!.bridge)
      return 'Its agent came back, and another program had taken the address where workers expect it.';
    return undefined;
  }
}
