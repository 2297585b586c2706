/** Extends a machine's lease by the heartbeats of its session, and stores the loads that come with them. */

import type { MachineLoads } from '../../domain/machines/host-load.ts';
import { HEARTBEAT_PERIOD_MS, LEASE_MS } from '../../domain/machines/lease.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import type { SessionKey } from '../live-session.ts';
import type { SessionContext } from './session-context.ts';

interface SessionHeartbeatOptions extends Pick<SessionContext, 'leases' | 'table' | 'clock' | 'logger'> {
  /** Checked with every heartbeat. */
  key: SessionKey;
  session(): MachineSession;
  isOpen(): boolean;
  /** Called when this heartbeat has extended the lease. */
  onExtended(sequence: number): void;
  /** Called when the lease may have ended before it was extended: others may have got attempts of the machine. */
  onLapsed(): void;
  /** Called when another session owns the machine. */
  onSuperseded(): void;
  onUnauthorized(error: DomainError): void;
}

/** Times that a welcome reports. */
export const WELCOME_TIMES = { heartbeatPeriodMs: HEARTBEAT_PERIOD_MS, leaseMs: LEASE_MS };

export class SessionHeartbeat {
  readonly #options: SessionHeartbeatOptions;
  /** Latest heartbeat while an extension is in flight. */
  #latest: number | undefined;
  /** Loads that are not stored yet. */
  #loads: MachineLoads | undefined;
  /** End of the lease as far as it is certain, in monotonic milliseconds. */
  #leasedUntilMs = -Infinity;

  constructor(options: SessionHeartbeatOptions) {
    this.#options = options;
  }

  /** Sets the loads that the next heartbeat stores. */
  loads(loads: MachineLoads): void {
    this.#loads = loads;
  }

  /** True while the machine's lease is certain: counted from before the statement that extended it was sent. */
  get holdsLease(): boolean {
    return this.#options.clock.monotonicMs() < this.#leasedUntilMs;
  }

  /** Extends the lease. Returns false if another session owns the machine. Rejects if the database is unavailable. */
  async extendLease(loads?: MachineLoads): Promise<boolean> {
    const { leases, clock, session, onLapsed } = this.#options;
    const sentAtMs = clock.monotonicMs();
    if (!(await leases.extend({ ...session(), loads }))) return false;
    const hasLapsed = !this.holdsLease;
    this.#leasedUntilMs = sentAtMs + LEASE_MS;
    if (hasLapsed) onLapsed();
    return true;
  }

  /** Handles a heartbeat. While an extension is in flight only the latest heartbeat waits. */
  extend(sequence: number): void {
    const isInFlight = this.#latest !== undefined;
    this.#latest = sequence;
    if (!isInFlight) this.#options.table.own(this.#extend(sequence));
  }

  /** Never rejects. A failed extension is not acknowledged; the agent's next heartbeat retries. */
  async #extend(sequence: number): Promise<void> {
    const { key, logger, session, isOpen, onExtended, onSuperseded, onUnauthorized } = this.#options;
    try {
      await key.check();
      const loads = this.#loads;
      const extended = await this.extendLease(loads);
      // Keep a newer value that has arrived since.
      if (this.#loads === loads) this.#loads = undefined;
      if (!extended) onSuperseded();
      else onExtended(sequence);
    } catch (error) {
      if (error instanceof DomainError && error.reason === 'UNAUTHORIZED') onUnauthorized(error);
      else logger.warn({ err: error, machineId: session().machineId }, 'lease was not renewed');
    }
    const latest = this.#latest!;
    this.#latest = undefined;
    if (latest !== sequence && isOpen()) this.extend(latest);
  }
}
