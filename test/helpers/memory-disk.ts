/**
 * A disk in memory that fails on demand and can lose power. After a power loss, unsynced data is complete, partial or
 * gone, as a random generator decides. It is stricter than any file system: names and deletions survive only if their
 * folder was synced, and may reach the disk in any order.
 */
import { basename, dirname } from 'node:path';
import type { Disk, DiskFile } from '@slipway/kit/host/disk';
import type { Random } from '@slipway/kit/time/clock';

/** Calls that can be made to fail. */
export type DiskCall = 'open' | 'write' | 'datasync' | 'sync' | 'rm' | 'rename' | 'readFile';

interface Inode {
  /** Content that programs see, and content that is sure to survive a power loss. */
  content: Buffer;
  synced: Buffer;
}

export class MemoryDisk {
  readonly #random: Random;
  readonly #names = new Map<string, Inode>();
  readonly #syncedNames = new Map<string, Inode>();
  readonly #failing = new Set<DiskCall>();
  /** Number of power losses so far. */
  #life = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Makes these calls fail from now on, and no others. */
  fail(calls: readonly DiskCall[]): void {
    this.#failing.clear();
    for (const call of calls) this.#failing.add(call);
  }

  /** Cuts the power and restores it. */
  losePower(): void {
    this.#life += 1;
    this.fail([]);
    for (const name of this.#both()) {
      const [now, then] = [this.#names.get(name), this.#syncedNames.get(name)];
      const left = now === then || this.#random.fraction() < 0.5 ? then : now;
      if (left) this.#syncedNames.set(name, left);
      else this.#syncedNames.delete(name);
    }
    this.#names.clear();
    for (const [name, inode] of this.#syncedNames) {
      this.#names.set(name, inode);
      inode.synced = inode.content = this.#tornContent(inode);
    }
  }

  /** Returns the disk as programs see it until the next power loss. After that loss, their writes change nothing. */
  boot(): Disk {
    const life = this.#life;
    const alive =
      <Args extends unknown[], Answer>(call: (...args: Args) => Answer) =>
      async (...args: Args): Promise<Answer> => {
        if (life !== this.#life) throw fault('EIO');
        return call(...args);
      };
    const fileOf = (path: string, inode: Inode | undefined): DiskFile => {
      const { write, read, appendFile, datasync, sync } = this.#file(path, inode!);
      return {
        write: alive(write),
        read: alive(read),
        appendFile: alive(appendFile),
        datasync: alive(datasync),
        sync: alive(sync),
        close: async () => undefined,
      };
    };
    return {
      mkdir: alive(() => undefined),
      open: alive((path, flags) => fileOf(path, this.#open(path, flags))),
      readFile: alive((path) => Buffer.from(this.#at('readFile', path).content)),
      readdir: alive((path) =>
        [...this.#names.keys()].filter((name) => dirname(name) === path).map((name) => basename(name)),
      ),
      rename: alive((from, to) => {
        this.#names.set(to, this.#at('rename', from));
        this.#names.delete(from);
      }),
      rm: alive((path) => {
        this.#check('rm', 'EIO');
        this.#names.delete(path);
      }),
    };
  }

  #open(path: string, flags: 'r' | 'w'): Inode | undefined {
    this.#check('open', 'ENOSPC');
    const there = this.#names.get(path);
    if (flags === 'r') return there;
    if (there) there.content = Buffer.alloc(0);
    else this.#names.set(path, { content: Buffer.alloc(0), synced: Buffer.alloc(0) });
    return this.#names.get(path);
  }

  #at(call: DiskCall, path: string): Inode {
    this.#check(call, 'EIO');
    const inode = this.#names.get(path);
    if (!inode) throw fault('ENOENT');
    return inode;
  }

  #file(path: string, file: Inode) {
    return {
      write: (bytes: Uint8Array, offset: number, length: number, position: number) => {
        const isFull = this.#failing.has('write');
        // A full disk writes only as many bytes as fit.
        const bytesWritten = isFull ? Math.floor(this.#random.fraction() * length) : length;
        const content = Buffer.alloc(Math.max(file.content.length, position + bytesWritten));
        file.content.copy(content);
        content.set(bytes.subarray(offset, offset + bytesWritten), position);
        file.content = content;
        this.#check('write', 'ENOSPC');
        return { bytesWritten };
      },
      read: (into: Buffer, offset: number, length: number, position: number) => ({
        bytesRead: file.content.copy(into, offset, position, position + length),
      }),
      appendFile: (text: string) => {
        this.#check('write', 'ENOSPC');
        file.content = Buffer.concat([file.content, Buffer.from(text)]);
      },
      datasync: () => {
        this.#check('datasync', 'EIO');
        file.synced = Buffer.from(file.content);
      },
      sync: () => {
        this.#check('sync', 'EIO');
        for (const name of this.#both(path)) {
          const now = this.#names.get(name);
          if (now) this.#syncedNames.set(name, now);
          else this.#syncedNames.delete(name);
        }
      },
    };
  }

  /** Names that exist or are synced, optionally in one folder only. */
  #both(folder?: string): Set<string> {
    const all = new Set([...this.#names.keys(), ...this.#syncedNames.keys()]);
    return folder === undefined ? all : new Set([...all].filter((name) => dirname(name) === folder));
  }

  /** Returns content after a power loss: a prefix of the unsynced data is there, and the rest may be zeros. */
  #tornContent({ content, synced }: Inode): Buffer {
    if (content.equals(synced)) return synced;
    let same = 0;
    while (same < Math.min(content.length, synced.length) && content[same] === synced[same]) same += 1;
    const kept = same + Math.floor(this.#random.fraction() * (content.length - same + 1));
    const torn = Buffer.concat([content.subarray(0, kept), synced.subarray(kept)]);
    return this.#random.fraction() < 0.5
      ? torn
      : Buffer.concat([torn, Buffer.alloc(Math.floor(this.#random.fraction() * 64))]);
  }

  #check(call: DiskCall, code: string): void {
    if (this.#failing.has(call)) throw fault(code);
  }
}

function fault(code: string): Error {
  return Object.assign(new Error(`${code}: the disk of a test`), { code });
}
