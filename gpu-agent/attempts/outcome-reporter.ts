/**
 * Brings outcomes to core. Sends them at once, and again after every reconnect, until core has acknowledged them. Also
 * writes them to the disk, unless core was faster. An outcome is safe as soon as either has happened; only then is its
 * worker answered.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptOutcome, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SIDE_STREAM_BYTES_MIN } from '@slipway/proto/wire/limits';
import { attemptKey } from '../spool/attempt-key.ts';
import { Grace } from '../spool/grace.ts';
import type { OutcomeSpool } from '../spool/outcome-spool.ts';
import type { ChunkLog } from './chunk-log.ts';
import { ownBytes } from './own-bytes.ts';
import type { LargeToCore, ToCore } from './to-core.ts';

interface Pending {
  ref: AttemptRef;
  /** `undefined` if the outcome is large and on disk: it is read again when it is sent. */
  outcome: AttemptOutcome | undefined;
  large: boolean;
  /** Number of failed reads from the disk. */
  unread: number;
  /** Grace period in which it waits before it is written. `undefined` if it does not wait, or comes from the disk. */
  grace: Grace<Pending> | undefined;
  /** Called when it is on the disk or acknowledged. */
  onSafe(): void;
}

/**
 * Time that an outcome waits for core before it is written to the disk, in milliseconds; it may take up to twice as
 * long. A running core acknowledges within a few milliseconds: then nothing is written, and no flush delays others on a
 * shared disk.
 */
const DISK_AFTER_MS = 10;
/**
 * The same for an outcome whose worker does not wait for it. A busy core acknowledges after tens of milliseconds, and
 * under a load of short jobs writing them all took an eighth of the agent's time. If the agent is killed before,
 * attempts that ended within this time are lost and run again.
 */
const DISK_AFTER_LONG_MS = 100;

/** Attempts to read an outcome from the disk before its attempt counts as lost. */
const READS_MAX = 5;

export class OutcomeReporter {
  readonly #spool: OutcomeSpool;
  readonly #chunks: ChunkLog;
  readonly #toCore: Pick<ToCore, 'addOutcome'>;
  readonly #large: Pick<LargeToCore, 'send'>;
  readonly #logger: Logger;
  readonly #pending = new Map<string, Pending>();
  /** Number of pending outcomes of each worker. */
  readonly #unacknowledgedOf = new Map<string, number>();
  /**
   * Outcomes that are not on the disk, nor on their way to it. `#grace`: their workers wait; `#longGrace`: their
   * workers do not.
   */
  readonly #grace: Grace<Pending> | undefined;
  readonly #longGrace: Grace<Pending> | undefined;
  readonly #waitingForIdle: (() => void)[] = [];
  readonly #listeners: ((workerId: string) => void)[] = [];

  constructor(options: {
    spool: OutcomeSpool;
    chunks: ChunkLog;
    toCore: Pick<ToCore, 'addOutcome'>;
    large: Pick<LargeToCore, 'send'>;
    clock: Clock;
    logger: Logger;
    /** See DISK_AFTER_MS, the default. 0: write to the disk at once. */
    diskAfterMs?: number | undefined;
  }) {
    this.#spool = options.spool;
    this.#chunks = options.chunks;
    this.#toCore = options.toCore;
    this.#large = options.large;
    this.#logger = options.logger;
    const { clock, diskAfterMs = DISK_AFTER_MS } = options;
    if (diskAfterMs === 0) return;
    const due = (pending: Pending): void => this.#toDisk(pending);
    this.#grace = new Grace({ clock, periodMs: diskAfterMs, due });
    this.#longGrace = new Grace({ clock, periodMs: DISK_AFTER_LONG_MS, due });
  }

  /** Calls `listener` whenever core has acknowledged all outcomes of a worker's attempts. */
  listen(listener: (workerId: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Loads the outcomes that an earlier run left on disk. Must be called before the first session. */
  async recover(): Promise<number> {
    const entries = await this.#spool.open();
    for (const { outcome, chunks } of entries) {
      for (const chunk of chunks) this.#chunks.add(chunk);
      const large = isLarge(outcome);
      const pending = {
        ref: outcome.ref!,
        outcome: large ? undefined : outcome,
        large,
        unread: 0,
        grace: undefined,
        onSafe: () => {},
      };
      this.#keep(attemptKey(outcome.ref!), pending);
    }
    return entries.length;
  }

  /** Returns the attempts whose outcome waits for its acknowledgement. */
  refs(): AttemptRef[] {
    return [...this.#pending.values()].map((pending) => pending.ref);
  }

  /** Returns true if the attempt has an outcome that waits for its acknowledgement. */
  has(key: string): boolean {
    return this.#pending.has(key);
  }

  /** Returns true if outcomes of the worker's attempts wait for their acknowledgement. */
  hasUnacknowledged(workerId: string): boolean {
    return this.#unacknowledgedOf.has(workerId);
  }

  /**
   * Reports an outcome. Resolves once it is on disk or acknowledged. Never rejects: without a working disk it waits for
   * core. `mayWait`: the caller does not wait for storage. `key`: key of its attempt, if known. Passing it avoids a new
   * string, which each map would have to hash again.
   */
  report(
    given: AttemptOutcome,
    { mayWait = false, key = attemptKey(given.ref!) }: { mayWait?: boolean | undefined; key?: string } = {},
  ): Promise<void> {
    const outcome = { ...given, output: given.output && ownBytes(given.output) };
    return new Promise((resolve) => {
      const large = isLarge(outcome);
      // A large outcome leaves memory as soon as it is on the disk, and takes its time to reach core.
      const graceOfSmall = mayWait ? this.#longGrace : this.#grace;
      const grace = large ? undefined : graceOfSmall;
      const pending: Pending = { ref: outcome.ref!, outcome, large, unread: 0, grace, onSafe: resolve };
      this.#keep(key, pending);
      this.#send(key, pending);
      if (grace) grace.add(key, pending);
      else this.#toDisk(pending);
    });
  }

  /** Writes everything that waits to be written at once: the agent ends. */
  writeAll(): void {
    this.#grace?.endAll();
    this.#longGrace?.endAll();
  }

  /** Handles core's acknowledgement: core has committed the outcome, or does not need it any more. */
  acknowledge(ref: AttemptRef): void {
    const key = attemptKey(ref);
    const pending = this.#pending.get(key);
    if (!pending) return;
    this.#pending.delete(key);
    this.#chunks.forget(key);
    if (!pending.grace?.takeBack(key)) this.#spool.acknowledge(key);
    pending.onSafe();
    this.#countAcknowledged(pending.ref.workerId);
    if (this.#pending.size === 0) for (const wake of this.#waitingForIdle.splice(0)) wake();
  }

  /** Sends everything again after a reconnect. Chunks must be on their way already. */
  sendAll(): void {
    for (const [key, pending] of this.#pending) this.#send(key, pending);
  }

  /**
   * Returns a large outcome with its output; `undefined` if it was acknowledged or is gone. Rejects if the read may be
   * tried again.
   */
  async load(key: string): Promise<AttemptOutcome | undefined> {
    const pending = this.#pending.get(key);
    if (!pending?.large) return undefined;
    try {
      const outcome = pending.outcome ?? (await this.#spool.read(key))?.outcome;
      if (outcome || !this.#pending.has(key)) return outcome;
      throw new Error('there is no such result in the spool');
    } catch (error) {
      pending.unread += 1;
      if (pending.unread < READS_MAX) throw error;
      this.#logger.error(
        { err: error, ...pending.ref },
        'a result could not be read from the disk, its attempt is lost',
      );
      this.#lose(key, pending);
      return undefined;
    }
  }

  /** Resolves when nothing waits for an acknowledgement. */
  idle(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForIdle.push(resolve));
  }

  #keep(key: string, pending: Pending): void {
    const { workerId } = pending.ref;
    if (!this.#pending.has(key)) this.#unacknowledgedOf.set(workerId, (this.#unacknowledgedOf.get(workerId) ?? 0) + 1);
    this.#pending.set(key, pending);
  }

  #toDisk(pending: Pending): void {
    const outcome = pending.outcome!;
    this.#spool.add({ outcome, chunks: [...this.#chunks.unacknowledged(attemptKey(pending.ref))] }).then(
      () => {
        if (pending.large) pending.outcome = undefined;
        pending.onSafe();
      },
      (error: unknown) => this.#logger.error({ err: error, ...pending.ref }, 'outcome could not be written to disk'),
    );
  }

  #countAcknowledged(workerId: string): void {
    const left = this.#unacknowledgedOf.get(workerId)! - 1;
    if (left > 0) return void this.#unacknowledgedOf.set(workerId, left);
    this.#unacknowledgedOf.delete(workerId);
    for (const listener of this.#listeners) listener(workerId);
  }

  /**
   * Reports LOST for an outcome that has no output to be COMPLETED with. It must not wait for ever: its job and its
   * worker's end wait with it.
   */
  #lose(key: string, pending: Pending): void {
    pending.large = false;
    pending.outcome = {
      ref: pending.ref,
      kind: OutcomeKind.LOST,
      output: undefined,
      error: 'Its result could not be read from the disk.',
    };
    this.#send(key, pending);
  }

  #send(key: string, pending: Pending): void {
    if (!pending.large) return this.#toCore.addOutcome(pending.outcome!, key);
    this.#large.send({
      key,
      isReady: () => this.#chunks.unacknowledged(key).length === 0,
      load: () => this.load(key),
      ref: pending.ref,
      acknowledge: () => this.acknowledge(pending.ref),
    });
  }
}

function isLarge(outcome: AttemptOutcome): boolean {
  return (outcome.output?.length ?? 0) > SIDE_STREAM_BYTES_MIN;
}
