/** File operations for durable data. Injected, so that tests can fail them, fill the disk or cut power. */
import files from 'node:fs/promises';

/** An open file or folder. */
export interface DiskFile {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
  read(into: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  appendFile(text: string): Promise<void>;
  /** Makes written data survive a power loss. */
  datasync(): Promise<void>;
  /** Makes the names in a folder survive a power loss. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface Disk {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  /** Opens a file or folder. `w`: creates it or empties it. `r`: reads it. */
  open(path: string, flags: 'r' | 'w', mode?: number): Promise<DiskFile>;
  readFile(path: string): Promise<Buffer>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
}

/** The disk of this machine. */
export const machineDisk: Disk = files;
