/**
 * Keeps outcomes on disk until core has acknowledged them, so that a result survives the agent. Chunks that core has
 * not stored yet are kept with their outcome: a job must not be COMPLETED without them.
 */

import type { Disk } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { attemptKey } from './attempt-key.ts';
import type { RecordPosition } from './journal.ts';
import { Journal } from './journal.ts';
import type { SpoolRecord } from './record.ts';
import { RecordKind } from './record.ts';
import type { SpoolEntry } from './spool-entry.ts';
import { entryPieces } from './spool-entry.ts';

/** Dependencies and settings of a spool. */
interface OutcomeSpoolOptions {
  folder: string;
  logger: Logger;
  clock: Clock;
  disk: Disk;
  segmentBytesMax?: number;
}

/** Bytes after which a segment is followed by the next. */
const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Number of old segments above which the oldest is compacted: what is still needed of it is written again at the end.
 */
const OLD_SEGMENTS_MAX = 4;
/** Separates the keys of one record; no key contains it. */
const KEY_SEPARATOR = '\n';

export class OutcomeSpool {
  readonly #journal: Journal;
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'soon'>;
  /** Position of each unacknowledged outcome. */
  readonly #positions = new Map<string, RecordPosition>();
  /** Unacknowledged outcomes of each segment that exists. */
  readonly #live = new Map<number, Set<string>>();
  /** Outcomes that were acknowledged while they were being written. */
  readonly #early = new Set<string>();
  readonly #writing = new Set<string>();
  /** Outcomes that were acknowledged in this tick. */
  readonly #acknowledged: string[] = [];
  #tidying: Promise<void> = Promise.resolve();
  #tidyAsked = false;
  #closed = false;
  /**
   * Keys by the older names that acknowledgements used before they named the endpoint. Only used while an earlier run's
   * files are read.
   */
  readonly #previousNames = new Map<string, string>();

  constructor({ folder, logger, clock, disk, segmentBytesMax = SEGMENT_BYTES_MAX }: OutcomeSpoolOptions) {
    this.#logger = logger;
    this.#clock = clock;
    this.#journal = new Journal({ folder, segmentBytesMax, logger, clock, disk });
  }

  /** Number of outcomes on disk. */
  get size(): number {
    return this.#positions.size;
  }

  /** Size of these outcomes in bytes. */
  get bytes(): number {
    return this.#positions.values().reduce((sum, position) => sum + position.bytes, 0);
  }

  /** Opens the folder. Returns the outcomes that an earlier run left unacknowledged, oldest first. */
  async open(): Promise<SpoolEntry[]> {
    const found = new Map<string, SpoolEntry>();
    const segments = await this.#journal.open((record, position) => this.#recover(found, record, position));
    this.#previousNames.clear();
    for (const segment of segments) this.#keysOf(segment);
    this.#tidy();
    await this.#tidying;
    return [...found.values()];
  }

  /** Writes an outcome. Resolves once it is on disk. */
  async add(entry: SpoolEntry): Promise<void> {
    const key = attemptKey(entry.outcome.ref!);
    this.#writing.add(key);
    let isEarly = false;
    try {
      const position = await this.#journal.append(RecordKind.OUTCOME, entryPieces(entry), true);
      this.#setPosition(key, position);
    } finally {
      this.#writing.delete(key);
      isEarly = this.#early.delete(key);
    }
    if (isEarly) this.acknowledge(key);
  }

  /** Handles core's acknowledgement: core has committed the outcome, or does not need it any more. */
  acknowledge(key: string): void {
    if (this.#writing.has(key)) {
      this.#early.add(key);
      return;
    }
    if (!this.#forget(key)) return;
    this.#acknowledged.push(key);
    // Core acknowledges hundreds in one message: they become one record.
    if (this.#acknowledged.length === 1) this.#clock.soon(() => this.#writeAcknowledged());
  }

  /** Reads an outcome from disk; `undefined` if it was acknowledged. */
  async read(key: string): Promise<SpoolEntry | undefined> {
    const position = this.#positions.get(key);
    return position && decodeEntry(await this.#journal.read(position));
  }

  /** Waits for writes in progress and closes the files. */
  async close(): Promise<void> {
    this.#writeAcknowledged();
    // Outcomes that are acknowledged from here on are cleaned up by the next run: no file may be deleted once this run
    // has ended.
    this.#closed = true;
    await this.#tidying;
    await this.#journal.close();
  }

  /** Records acknowledgements. They only save a later run from sending the outcomes again, so they may be lost. */
  #writeAcknowledged(): void {
    if (this.#acknowledged.length === 0) return;
    const payload = Buffer.from(this.#acknowledged.splice(0).join(KEY_SEPARATOR));
    this.#journal.append(RecordKind.ACKNOWLEDGED, [payload], false).then(
      () => this.#tidy(),
      (error: unknown) => this.#logger.warn({ err: error }, 'acknowledgements were not spooled'),
    );
  }

  #recover(found: Map<string, SpoolEntry>, record: SpoolRecord, position: RecordPosition): void {
    if (record.kind === RecordKind.ACKNOWLEDGED) {
      for (const name of record.payload.toString().split(KEY_SEPARATOR)) {
        const key = this.#previousNames.get(name) ?? name;
        found.delete(key);
        this.#forget(key);
      }
      return;
    }
    const entry = decodeEntry(record.payload);
    if (!entry) return;
    const key = attemptKey(entry.outcome.ref!);
    found.set(key, entry);
    this.#setPosition(key, position);
    this.#recordPreviousName(entry.outcome.ref!, key);
  }

  /**
   * Records the older name of an outcome. A name that fits two outcomes counts for neither: sending one again does no
   * harm, but forgetting the other would.
   */
  #recordPreviousName({ jobId, attempt }: AttemptRef, key: string): void {
    const name = `${jobId}#${attempt}`;
    const known = this.#previousNames.get(name);
    this.#previousNames.set(name, known === undefined || known === key ? key : '');
  }

  #setPosition(key: string, position: RecordPosition): void {
    this.#forget(key);
    this.#positions.set(key, position);
    this.#keysOf(position.segment).add(key);
  }

  #keysOf(segment: number): Set<string> {
    const live = this.#live.get(segment) ?? new Set();
    this.#live.set(segment, live);
    return live;
  }

  #forget(key: string): boolean {
    const position = this.#positions.get(key);
    if (!position) return false;
    this.#live.get(position.segment)?.delete(key);
    return this.#positions.delete(key);
  }

  #tidy(): void {
    if (this.#tidyAsked || this.#closed) return;
    this.#tidyAsked = true;
    this.#tidying = this.#tidying
      .then(async () => {
        this.#tidyAsked = false;
        await this.#dropEmpty();
        await this.#compact();
      })
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'spool was not compacted'));
  }

  /**
   * Drops segments without live outcomes, oldest first and without gaps: the acknowledgements in a segment are needed
   * as long as an older segment exists.
   */
  async #dropEmpty(): Promise<void> {
    this.#keysOf(this.#journal.activeSegment);
    for (const segment of [...this.#live.keys()].sort((a, b) => a - b)) {
      if (this.#live.get(segment)!.size > 0 || segment === this.#journal.activeSegment) return;
      this.#live.delete(segment);
      await this.#journal.drop(segment);
    }
  }

  async #compact(): Promise<void> {
    const old = [...this.#live.keys()].filter((segment) => segment < this.#journal.activeSegment).sort((a, b) => a - b);
    if (old.length <= OLD_SEGMENTS_MAX) return;
    const oldest = old[0]!;
    for (const key of [...this.#live.get(oldest)!]) {
      const position = this.#positions.get(key);
      if (!position || position.segment !== oldest) continue;
      const moved = await this.#journal.append(RecordKind.OUTCOME, [await this.#journal.read(position)], true);
      if (this.#positions.has(key)) this.#setPosition(key, moved);
    }
    await this.#dropEmpty();
  }
}

function decodeEntry(payload: Buffer): SpoolEntry | undefined {
  const { chunks, outcomes } = SessionRequest.decode(payload);
  return outcomes[0]?.ref ? { outcome: outcomes[0], chunks } : undefined;
}
