/**
 * Runs programs of this host that change its network and mounts, and one that reads the kernel's log.
 */
import { execFile } from 'node:child_process';

/** Runs programs to their end. */
export interface HostPrograms {
  /** Runs a program and returns its stdout. Rejects with its stderr. */
  run(program: string, args: readonly string[], input?: string): Promise<string>;
}

/** Longest run, in milliseconds: these programs take a few. */
const RUN_MS = 10_000;
/**
 * Most output accepted, in bytes: a kernel's log has a few hundred KiB, and some MiB on machines with many processors.
 */
const OUTPUT_BYTES_MAX = 32 << 20;

/** Runs the programs of this host. */
export const hostPrograms: HostPrograms = {
  run: (program, args, input = '') =>
    new Promise((resolve, reject) => {
      // Administrators' programs are in folders that a service's PATH may not have.
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
      const child = execFile(
        program,
        [...args],
        { env, timeout: RUN_MS, maxBuffer: OUTPUT_BYTES_MAX },
        (error, stdout, stderr) => {
          if (error) reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`));
          else resolve(stdout);
        },
      );
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    }),
};
