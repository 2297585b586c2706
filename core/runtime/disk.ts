/** The disk, as far as what must outlive a process needs it. Handed in, so that tests can fail it, fill it and take its power away. */
import files from 'node:fs/promises';

/** An open file or folder. */
export interface DiskFile {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
  read(into: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  appendFile(text: string): Promise<void>;
  /** What was written is there after a loss of power, too. */
  datasync(): Promise<void>;
  /** The same of a folder: the names in it. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface Disk {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  /** `w`: made anew and empty. `r`: a file or a folder as it is. */
  open(path: string, flags: 'r' | 'w', mode?: number): Promise<DiskFile>;
  readFile(path: string): Promise<Buffer>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
}

/** The machine's own. */
export const machineDisk: Disk = files;
