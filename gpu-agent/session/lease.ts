/**
 * The permission to run attempts: it lasts lease_ms from the moment the last answered heartbeat was sent, by this
 * machine's steady clock. Core counts from when it received that heartbeat, so the agent always gives up first.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';

export class Lease {
  readonly #clock: Clock;
  /** Called when the lease ran out, before anything else may be given away by core. */
  readonly #onExpired: () => void;
  /** When each unanswered heartbeat of this session was sent. */
  readonly #sentAtMs = new Map<number, number>();
  #leaseMs = 0;
  #heldFromMs: number | undefined;
  #timer: Timer | undefined;

  constructor(options: { clock: Clock; onExpired: () => void }) {
    this.#clock = options.clock;
    this.#onExpired = options.onExpired;
  }

  /** When the lease runs out, by the steady clock. Undefined when there is none. */
  get expiresAtMs(): number | undefined {
    return this.#heldFromMs === undefined ? undefined : this.#heldFromMs + this.#leaseMs;
  }

  /** Since when it is held, by the steady clock. Undefined: there is none. */
  get heldFromMs(): number | undefined {
    return this.#heldFromMs;
  }

  get lengthMs(): number {
    return this.#leaseMs;
  }

  /** The run of the agent before this one has held it since then: a successor goes on with it. */
  resume(heldFromMs: number, lengthMs: number): void {
    this.#leaseMs = lengthMs;
    this.#heldFromMs = heldFromMs;
    this.#arm();
  }

  /** A new session begins: its numbers start again. The lease of the one before goes on. */
  beginSession(): void {
    this.#sentAtMs.clear();
  }

  /** Core's `welcome` names the length. */
  setLength(leaseMs: number): void {
    this.#leaseMs = leaseMs;
  }

  /** Call it before the heartbeat is written, never after. */
  sent(sequence: number): void {
    this.#sentAtMs.set(sequence, this.#clock.monotonicMs());
  }

  /** Core answered this heartbeat and with it all earlier ones. */
  answered(sequence: number): void {
    const sentAtMs = this.#sentAtMs.get(sequence);
    if (sentAtMs === undefined) return;
    for (const earlier of this.#sentAtMs.keys()) if (earlier <= sequence) this.#sentAtMs.delete(earlier);
    this.#heldFromMs = Math.max(this.#heldFromMs ?? sentAtMs, sentAtMs);
    this.#arm();
  }

  /** Stops the clock, at the agent's end. */
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
