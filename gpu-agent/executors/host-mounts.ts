/** Reads the mounts of this host as this process sees them. */
import { readFile } from 'node:fs/promises';

/** A mount. */
export interface HostMount {
  /** Directory of its file system that it shows. */
  root: string;
  /** Mount point. */
  point: string;
  /** Mount options, for instance `nosuid`. */
  options: readonly string[];
  /** Type of its file system, for instance `ext4`. */
  type: string;
  /** Mounted device, for instance `/dev/sda1`. */
  source: string;
  /** Options of the file system itself, for instance `prjquota`. */
  fileSystemOptions: readonly string[];
}

/** Returns all mounts, the latest last; none if there is no /proc. */
export async function hostMounts(): Promise<HostMount[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', point = '', options = ''] = before.split(' ');
      const [type = '', source = '', fileSystemOptions = ''] = after.split(' ');
      return {
        root: plain(root),
        point: plain(point),
        options: options.split(','),
        type,
        source: plain(source),
        fileSystemOptions: fileSystemOptions.split(','),
      };
    });
}

/**
 * Returns the mount that a path is on: the longest mount point, and of several the latest. `undefined` if there is no
 * /proc.
 */
export function mountOf(path: string, mounts: readonly HostMount[]): HostMount | undefined {
  return mounts
    .filter(({ point }) => isBelow(path, point))
    .reduce<HostMount | undefined>(
      (best, mount) => (best && best.point.length > mount.point.length ? best : mount),
      undefined,
    );
}

/** Returns whether a path is the folder or lies in it. */
export function isBelow(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

/** Decodes a path: the kernel writes spaces and similar characters as octal numbers. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
