/** Reads Xid events of the NVIDIA driver from the kernel log. */

import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { pciOf } from './driver-report.ts';

/** An error that the driver wrote to the kernel log. */
export interface XidEvent {
  /** Position of the card on the PCI bus, as `0000:3b:00`. */
  pci: string;
  code: number;
  /** Identifies the event; marks of one boot sort as text (machine.proto, Gpu.fault_mark). */
  mark: string;
}

/** Largest record of the kernel log, in bytes, with its properties. */
const RECORD_BYTES = 65_536;
/** Most records of one read: more than any ring buffer holds. */
const RECORDS_MAX = 1_000_000;
/** Digits of a time since boot in microseconds, so that marks sort as text. */
const MARK_DIGITS = 16;

export class KernelLog {
  readonly #path: string;
  #file: number | undefined;
  #rest = '';
  /** The latest event of each code of a card. */
  readonly #events = new Map<string, XidEvent>();

  /** `path`: the kernel's device, or a file with its lines. */
  constructor(path = '/dev/kmsg') {
    this.#path = path;
  }

  /** Reads new lines. Returns the latest event of each code of each card since boot. Throws if it cannot be read. */
  read(): XidEvent[] {
    this.#file ??= openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    const lines = (this.#rest + this.#readNew(this.#file)).split('\n');
    this.#rest = lines.pop()!;
    for (const event of lines.flatMap(parseXid)) this.#events.set(`${event.pci} ${event.code}`, event);
    return [...this.#events.values()];
  }

  /** Closes the log. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #readNew(file: number): string {
    const buffer = Buffer.alloc(RECORD_BYTES);
    let text = '';
    for (let records = 0; records < RECORDS_MAX; records += 1) {
      try {
        const length = readSync(file, buffer, 0, buffer.length, null);
        if (length === 0) break;
        text += buffer.toString('latin1', 0, length);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN') break;
        // Records were overwritten before they were read.
        if (code !== 'EPIPE') throw error;
      }
    }
    return text;
  }
}

/** Returns the event of a line such as `4,812,5000000,-;NVRM: Xid (PCI:0000:3b:00): 79, …`, if it has one. */
export function parseXid(line: string): XidEvent[] {
  const [, time, card = '', code] = /^\d+,\d+,(\d+),[^;]*;NVRM: Xid \(([^)]*)\): (\d+)/.exec(line) ?? [];
  const pci = pciOf(card);
  if (time === undefined || pci === undefined) return [];
  return [{ pci, code: Number(code), mark: `${bootId()}/${time.padStart(MARK_DIGITS, '0')}` }];
}

/** Returns the kernel's name of this boot. */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
