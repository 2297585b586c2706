/** The live sessions of this replica, by machine. */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SILENCE_MS_MAX } from '../domain/machines/lease.ts';
import type { CoreEvents } from '../events/core-events.ts';
import type { LiveSession } from './live-session.ts';

/** Period of the check for silent sessions in milliseconds. */
const PERIOD_MS = 1_000;

interface SessionTableOptions {
  events: CoreEvents;
  /** Marked at the end of each session. */
  activity: ActivityMonitor;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class SessionTable extends LoopService {
  readonly #options: SessionTableOptions;
  readonly #sessions = new Map<string, LiveSession>();
  /** Sessions whose hello has not come yet. */
  readonly #nameless = new Set<LiveSession>();
  /** Work that continues after a session's end. */
  readonly #endings = new Set<Promise<void>>();
  #off: () => void = () => undefined;

  constructor(options: SessionTableOptions) {
    super({ ...options, name: 'sessions', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async onStart(): Promise<void> {
    this.#off = this.#options.events.on('stop', (stops) => {
      for (const { machineId, reason, ...key } of stops) this.#sessions.get(machineId)?.stopAttempt(key, reason);
    });
    await super.onStart();
  }

  /** Ends all sessions normally; their agents reconnect to another replica or to the next process. */
  protected override async onStop(): Promise<void> {
    this.#off();
    for (const session of [...this.#sessions.values(), ...this.#nameless])
      session.close('core is shutting down', SessionEndReason.SHUTTING_DOWN);
    await super.onStop();
    while (this.#endings.size > 0) await Promise.all(this.#endings);
  }

  /** True if new sessions are rejected. */
  get closed(): boolean {
    return this.ending.aborted;
  }

  /** Adds a session whose hello has not come yet. */
  begin(session: LiveSession): void {
    this.#nameless.add(session);
  }

  /** Records that the hello of a session has come, or that the session has ended without one. Idempotent. */
  greeted(session: LiveSession): void {
    this.#nameless.delete(session);
  }

  /** Adds a session for its machine and ends the previous one. Idempotent. */
  enter(session: LiveSession): void {
    const before = this.#sessions.get(session.machineId);
    this.#sessions.set(session.machineId, session);
    if (before !== session) before?.close('the agent opened a newer session', SessionEndReason.SUPERSEDED);
  }

  /** Removes a session unless a newer one has replaced it. Returns whether it was removed. */
  leave(session: LiveSession): boolean {
    this.#options.activity.mark();
    if (this.#sessions.get(session.machineId) !== session) return false;
    return this.#sessions.delete(session.machineId);
  }

  /** Makes `stop` wait for work of a session. It must not reject. */
  own(ending: Promise<void>): void {
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  /** Returns the session of a machine. */
  get(machineId: string): LiveSession | undefined {
    return this.#sessions.get(machineId);
  }

  /** Returns all sessions. */
  all(): LiveSession[] {
    return [...this.#sessions.values()];
  }

  /** Closes sessions that have fallen silent. */
  protected override async pass(): Promise<void> {
    const silentSince = this.#options.clock.monotonicMs() - SILENCE_MS_MAX;
    const closeSilent = (sessions: Iterable<LiveSession>, text: string): void => {
      for (const session of sessions)
        if (session.lastSeenAtMs < silentSince) session.close(text, SessionEndReason.LEASE_OVER);
    };
    closeSilent(this.#sessions.values(), 'the agent stopped answering');
    closeSilent(this.#nameless, 'the agent sent no hello');
  }
}
