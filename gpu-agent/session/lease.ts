/**
 * The permission to run attempts. It lasts lease_ms from the moment the last answered heartbeat was sent, by this
 * machine's monotonic clock. Core counts from when it received that heartbeat, so the agent always gives up first.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';

export class Lease {
  readonly #clock: Clock;
  /** Called when the lease ran out, before core may give anything to others. */
  readonly #onExpired: () => void;
  /** Time at which each unanswered heartbeat of this session was sent. */
  readonly #sentAtMs = new Map<number, number>();
  #leaseMs = 0;
  #heldFromMs: number | undefined;
  #timer: Timer | undefined;

  constructor(options: { clock: Clock; onExpired: () => void }) {
    this.#clock = options.clock;
    this.#onExpired = options.onExpired;
  }

  /** Time at which the lease runs out, by the monotonic clock; `undefined` if there is none. */
  get expiresAtMs(): number | undefined {
    return this.#heldFromMs === undefined ? undefined : this.#heldFromMs + this.#leaseMs;
  }

  /** True if the lease is held and has not run out, also where its timer is late. */
  get isHeld(): boolean {
    return this.expiresAtMs !== undefined && this.#clock.monotonicMs() < this.expiresAtMs;
  }

  /** Time since which the lease is held, by the monotonic clock; `undefined` if there is none. */
  get heldFromMs(): number | undefined {
    return this.#heldFromMs;
  }

  get lengthMs(): number {
    return this.#leaseMs;
  }

  /** Continues the lease of the agent's previous run, which was held since `heldFromMs`. */
  resume(heldFromMs: number, lengthMs: number): void {
    this.#leaseMs = lengthMs;
    this.#heldFromMs = heldFromMs;
    this.#arm();
  }

  /** Handles the start of a session, whose heartbeat numbers start again. The previous lease continues. */
  beginSession(): void {
    this.#sentAtMs.clear();
  }

  /** Sets the length of the lease, from core's `welcome`. */
  setLength(leaseMs: number): void {
    this.#leaseMs = leaseMs;
  }

  /** Records that a heartbeat is sent. Must be called before it is written, never after. */
  sent(sequence: number): void {
    this.#sentAtMs.set(sequence, this.#clock.monotonicMs());
  }

  /**
   * Handles core's answer to this heartbeat, which also answers all earlier ones. Returns how long the answer took, in
   * milliseconds; `undefined` if it was answered before.
   */
  answered(sequence: number): number | undefined {
    const sentAtMs = this.#sentAtMs.get(sequence);
    if (sentAtMs === undefined) return undefined;
    for (const earlier of this.#sentAtMs.keys()) if (earlier <= sequence) this.#sentAtMs.delete(earlier);
    this.#heldFromMs = Math.max(this.#heldFromMs ?? sentAtMs, sentAtMs);
    this.#arm();
    return this.#clock.monotonicMs() - sentAtMs;
  }

  /** Stops the timer at the end of the agent. */
  close(): void {
    this.#timer?.cancel();
    this.#heldFromMs = undefined;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(Math.max(0, this.expiresAtMs! - this.#clock.monotonicMs()), () => this.#expire());
  }

  #expire(): void {
    // A timer may fire a moment early.
    if (this.expiresAtMs !== undefined && this.#clock.monotonicMs() < this.expiresAtMs) return this.#arm();
    this.#heldFromMs = undefined;
    this.#onExpired();
  }
}
