/** Checks of this machine: disk, memory, control groups and network. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import type { Finding } from './finding.ts';
import { fail, ok, warn } from './finding.ts';

const GIB = 2 ** 30;
const FREE_BYTES = { warn: 10 * GIB, fail: GIB };
const SYNCS = 20;
const BLOCK_BYTES = 4_096;
const SYNC_MS = { warn: 20, fail: 500 };
const MEMORY_BYTES_MIN = GIB;
const CONTROLLERS = ['cpu', 'memory', 'pids'];
const MTU_USUAL = 1_500;
const MTU_MIN = 1_280;

/** Checks the disk of a folder, which need not exist yet: free space, and how long it takes until data is on it. */
export function diskChecks(wanted: string, clock: Clock): Finding[] {
  let folder = wanted;
  while (!existsSync(folder)) folder = dirname(folder);
  const file = join(folder, `.slipway-doctor-${process.pid}`);
  try {
    const { bavail, bsize } = statfsSync(folder);
    return [spaceFinding(folder, bavail * bsize), syncFinding(folder, syncMs(file, clock))];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [
      fail('disk', `${folder} cannot be written (${code})`, 'Make the folder, and give it to the user of the part.'),
    ];
  } finally {
    rmSync(file, { force: true });
  }
}

function spaceFinding(folder: string, bytes: number): Finding {
  const text = `${(bytes / GIB).toFixed(1)} GiB free in ${folder}`;
  if (bytes >= FREE_BYTES.warn) return ok('disk', text);
  return (bytes < FREE_BYTES.fail ? fail : warn)('disk', text, 'Free some space, or choose another --data-dir.');
}

/** Returns the slowest but one of some syncs, in milliseconds. */
function syncMs(file: string, clock: Clock): number {
  const handle = openSync(file, 'w', 0o600);
  try {
    const times = Array.from({ length: SYNCS }, () => {
      const startMs = clock.monotonicMs();
      writeSync(handle, Buffer.alloc(BLOCK_BYTES));
      fdatasyncSync(handle);
      return clock.monotonicMs() - startMs;
    });
    return times.toSorted((a, b) => b - a)[1]!;
  } finally {
    closeSync(handle);
  }
}

function syncFinding(folder: string, ms: number): Finding {
  const text = `fdatasync takes ${ms.toFixed(1)} ms in ${folder}`;
  if (ms <= SYNC_MS.warn) return ok('disk sync', text);
  const fix = 'Results are written with it: use a local SSD, not a network disk.';
  return (ms > SYNC_MS.fail ? fail : warn)('disk sync', text, fix);
}

/** Checks the memory that programs can still get. `meminfo`: content of /proc/meminfo. */
export function memoryCheck(meminfo = readOr('/proc/meminfo')): Finding {
  const kib = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(meminfo)?.[1] ?? 0);
  const [free, total] = [kib('MemAvailable') * 1_024, kib('MemTotal') * 1_024];
  if (total === 0) return warn('memory', 'not known on this system', 'Slipway runs workers on Linux.');
  const text = `${(free / GIB).toFixed(1)} of ${(total / GIB).toFixed(1)} GiB can be had`;
  return free >= MEMORY_BYTES_MIN ? ok('memory', text) : warn('memory', text, 'End other programs, or add memory.');
}

/** Checks the control groups that limit containers. `root`: where they are mounted. */
export function cgroupCheck(root = '/sys/fs/cgroup'): Finding {
  const controllers = readOr(join(root, 'cgroup.controllers')).split(/\s+/).filter(Boolean);
  const missing = CONTROLLERS.filter((name) => !controllers.includes(name));
  if (missing.length === 0) return ok('cgroups', `version 2 with ${CONTROLLERS.join(', ')}`);
  if (controllers.length === 0)
    return warn(
      'cgroups',
      'version 1, or not mounted',
      'Boot with systemd.unified_cgroup_hierarchy=1: workers are else limited by the engine alone.',
    );
  return warn('cgroups', `without ${missing.join(', ')}`, 'Enable these controllers in cgroup.subtree_control above.');
}

/** Checks whether packets of containers fit the network. `root`: folder of the interfaces. */
export function mtuCheck(root = '/sys/class/net'): Finding {
  const mtuOf = (name: string): number => Number(readOr(join(root, name, 'mtu')));
  const names = existsSync(root) ? readdirSync(root) : [];
  // Bridges belong to container engines; bridges with a device belong to this machine.
  const outer = names.filter((name) => existsSync(join(root, name, 'device')) || /^(eth|en|wl|bond)/.test(name));
  const bridges = names.filter((name) => existsSync(join(root, name, 'bridge')));
  const least = Math.min(...outer.map(mtuOf));
  if (outer.length === 0) return ok('MTU', 'no interface of a network');
  const text = outer.map((name) => `${name} ${mtuOf(name)}`).join(', ');
  const wide = bridges.filter((name) => mtuOf(name) > least);
  if (least < MTU_MIN) return fail('MTU', text, `Set at least ${MTU_MIN}: larger packets are lost.`);
  if (wide.length > 0 && least < MTU_USUAL) {
    const fix = `Set "mtu": ${least} in the configuration of the engine: large packets of containers are lost.`;
    return warn('MTU', `${text}, but ${wide.map((name) => `${name} ${mtuOf(name)}`).join(', ')}`, fix);
  }
  return ok('MTU', text);
}

/** Checks the addresses by which others can reach this machine. */
export function addressCheck(interfaces = networkInterfaces()): Finding {
  const found = Object.values(interfaces).flatMap((all) => all ?? []);
  const outer = found.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return outer.length > 0
    ? ok('addresses', [...new Set(outer.map(({ address }) => address))].join(', '))
    : warn('addresses', 'only loopback', 'Other machines cannot reach this one, nor this one them.');
}

/** Checks whether a part can listen at its usual port. */
export function portCheck(part: string, host: string, port: number): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(
        code === 'EADDRINUSE'
          ? warn('port', `${host}:${port} is in use`, `Is ${part} running? Otherwise choose another port.`)
          : fail('port', `${host}:${port}: ${code}`, 'Choose another port, or allow this one to the user of the part.'),
      ),
    );
    server.listen(port, host, () => server.close(() => resolve(ok('port', `${host}:${port} is free`))));
  });
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
