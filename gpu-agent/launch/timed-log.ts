/**
 * A workload's log that records when each part of it arrived, and which lines the system around the workload wrote, for
 * instance how its image is pulled.
 */
import type { Clock } from '@slipway/kit/time/clock';
import { LogRing } from './log-ring.ts';

const LINE_FEED = 0x0a;
/** Most time stamps kept. Beyond them every second one is dropped, so that times of old parts become less exact. */
const STAMPS_MAX = 4_096;

/**
 * When the bytes from `at` on, counted since the worker's start, arrived: by the monotonic clock, and for people in
 * milliseconds since 1970.
 */
export interface TimeStamp {
  at: number;
  monotonicMs: number;
  wallMs: number;
}

/** Most lines of the system that are known as such; older ones count as the workload's own. */
const SYSTEM_LINES_MAX = 4_096;

/** A line of the system, in bytes since the workload's start. */
interface SystemLine {
  /** First byte that was written for it: a line feed that ends the workload's own line, or its text. */
  from: number;
  /** First byte of its text. */
  at: number;
  /** Where the next line begins. */
  to: number;
  /** Left out of the bare text of the log (see `bareText`). */
  hidden: boolean;
}

/** The kept part of a log. */
export interface BufferedLog {
  bytes: Buffer;
  /** Bytes that were written before the first kept one. */
  start: number;
  /** In order. The first may be later than the first bytes. */
  stamps: readonly TimeStamp[];
  /** Lines of the system, in order. Absent: none. */
  system?: readonly SystemLine[] | undefined;
}

/** Returns a log's bytes without its hidden lines: what the workload wrote, and how it was prepared. */
export function bareText({ bytes, start, system = [] }: BufferedLog): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const line of system) {
    if (!line.hidden || line.to <= start) continue;
    parts.push(bytes.subarray(at, Math.max(at, line.from - start)));
    at = line.to - start;
  }
  return parts.length === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(at)]);
}

export class TimedLog extends LogRing {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'nowMs'>;
  #written = 0;
  #stamps: TimeStamp[] = [];
  #system: SystemLine[] = [];

  constructor(bytesMax: number, clock: Pick<Clock, 'monotonicMs' | 'nowMs'>) {
    super(bytesMax);
    this.#clock = clock;
  }

  override write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#stamp();
    this.#written += bytes.length;
    super.write(bytes);
  }

  /** Adds a line of the system, unless it is empty. `hidden`: only readers of lines get it. */
  note(text: string, { hidden }: { hidden: boolean }): void {
    if (text === '') return;
    const from = this.#written;
    const isOpen = this.size > 0 && this.newest(1)[0] !== LINE_FEED;
    this.write(Buffer.from(`${isOpen ? '\n' : ''}${text.replaceAll(/[\r\n]+/g, ' ')}\n`));
    const line = { from, at: from + (isOpen ? 1 : 0), to: this.#written, hidden };
    this.#system = [...this.#system.slice(1 - SYSTEM_LINES_MAX), line];
  }

  /** Returns a copy of the newest `bytes` bytes of its bare text, oldest first. */
  override tail(bytes: number): Buffer {
    const text = bareText(this.kept());
    return text.subarray(Math.max(0, text.length - bytes));
  }

  /** Inserts the log of a previous run before everything written since, so that a reader's byte offset stays valid. */
  precede({ bytes, start, stamps, system = [] }: BufferedLog): void {
    const own = this.kept();
    const from = start + bytes.length;
    this.clear();
    super.write(bytes);
    super.write(own.bytes);
    this.#written = from + own.start + own.bytes.length;
    this.#stamps = [...stamps, ...own.stamps.map((stamp) => ({ ...stamp, at: from + stamp.at }))];
    const moved = this.#system.map((line) => ({
      ...line,
      from: from + line.from,
      at: from + line.at,
      to: from + line.to,
    }));
    this.#system = [...system, ...moved].slice(-SYSTEM_LINES_MAX);
  }

  /** Returns a copy of everything kept. */
  kept(): BufferedLog {
    const start = this.#written - this.size;
    const system = this.#system.filter(({ to }) => to > start);
    this.#system = system;
    const kept = { bytes: this.newest(this.size), start, stamps: [...this.#stamps] };
    return system.length === 0 ? kept : { ...kept, system: [...system] };
  }

  #stamp(): void {
    const monotonicMs = this.#clock.monotonicMs();
    // Bytes of the same millisecond share a time stamp.
    if (Math.floor(this.#stamps.at(-1)?.monotonicMs ?? -1) === Math.floor(monotonicMs)) return;
    if (this.#stamps.length >= STAMPS_MAX) this.#stamps = this.#stamps.filter((_, index) => index % 2 === 0);
    this.#stamps.push({ at: this.#written, monotonicMs, wallMs: this.#clock.nowMs() });
  }
}
