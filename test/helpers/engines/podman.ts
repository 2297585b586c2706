/**
 * A real Podman for one test: storage, networks and socket lie in a folder that is removed when the test's process
 * ends, however it ends.
 */

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import { waitFor } from '../time/wait-for.ts';
import type { TestPodman } from './podman-images.ts';
import { BASE_IMAGE, makeBaseTar, makeRunImages } from './podman-images.ts';
import { writeSettings } from './podman-settings.ts';
import { DROP_RULES } from './reap-rules.ts';
import { runImages } from './run-images.ts';

const run = promisify(execFile);

export { podmanSkip } from './podman-skip.ts';

/** Blocks until the test's process closes the pipe or is gone. Then it removes all of that Podman. */
const REAP = `${DROP_RULES}
cat >/dev/null
podman rm --all --force --time 0
ls "$1/networks" | drop_rules
for address in $(sed -n 's/.*"gateway": "\\([0-9.]*\\)".*/\\1/p' "$1"/networks/slipway-*.json); do ip address delete "$address/32" dev lo; done
read -r pid < "$1/service.pid" && kill "$pid"
for pid in $(cat "$1"/more-*.pid 2>/dev/null); do kill "$pid"; done
for mount in $(awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | sort -r); do umount -l "$mount"; done
rm -rf -- "$1"
`;

let podman: Promise<TestPodman> | undefined;

/**
 * Starts the Podman of this file's process, with the base image. `ownImages` is for tests that add and remove images,
 * which must not exist at the start. `inside` is a command that runs its service elsewhere, such as in a network
 * namespace.
 */
export function startPodman({ ownImages = false, inside = [] as readonly string[] } = {}): Promise<TestPodman> {
  requireDeclared('alone');
  podman ??= start(ownImages, inside);
  return podman;
}

async function start(ownImages: boolean, inside: readonly string[]): Promise<TestPodman> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-podman-'));
  const path = (name: string): string => join(folder, name);
  const shared = ownImages ? undefined : await runImages((store) => makeRunImages(folder, store));
  const env = await writeSettings(
    folder,
    shared === undefined ? '' : `[storage.options]\nadditionalimagestores=["${shared}"]\n`,
  );
  const reaper = spawn('/bin/sh', ['-c', REAP, 'sh', folder], {
    cwd: '/',
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.stdin.on('error', () => undefined);
  const reaped = new Promise<void>((resolve) => {
    reaper.once('exit', () => resolve());
  });
  const cli = async (...args: string[]): Promise<string> => (await run('podman', args, { env })).stdout;
  let service: ReturnType<typeof spawn> | undefined;
  const self: TestPodman = {
    socket: path('podman.sock'),
    folder,
    env,
    cli,
    sharesImages: shared !== undefined,
    names: ({ all = false, paused = false } = {}) =>
      cli('ps', '--format={{.Names}}', ...(all ? ['--all'] : []), ...(paused ? ['--filter=status=paused'] : [])),
    exec: (container, ...command) => cli('exec', container, ...command),
    importTar: async (file, name, ...changes) => {
      await cli('import', ...changes.flatMap((line) => ['--change', line]), file, name);
    },
    push: async (image, name, { username, password }) => {
      await cli('push', '--quiet', '--compression-format=zstd', `--creds=${username}:${password}`, image, name);
    },
    startService: async () => {
      // conmon leaves a file in its working directory when a container ran out of memory.
      const words = ['podman', 'system', 'service', '--time=0', `unix://${path('podman.sock')}`];
      const [program = '', ...args] = [...inside, ...words];
      service = spawn(program, args, {
        cwd: folder,
        env,
        stdio: 'ignore',
      });
      writeFileSync(path('service.pid'), `${service.pid}\n`);
      await waitFor('podman to answer', () => answers(self.socket));
    },
    killService: async () => {
      const gone = new Promise((resolve) => {
        service?.once('exit', resolve);
      });
      service?.kill('SIGKILL');
      await gone;
    },
    trustRegistry: async (address) => {
      writeFileSync(path('registries.conf'), `[[registry]]\nlocation="${address}"\ninsecure=true\n`);
      // Podman reads its registries once, at the start.
      await self.killService();
      await self.startService();
    },
    keepPid: (name, pid) => writeFileSync(path(`more-${name}.pid`), `${pid}\n`),
    smallDisk: async (mebibytes) => {
      mkdirSync(path('small'));
      await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path('small')]);
      const folders = [
        `--root=${path('small/graph')}`,
        `--runroot=${path('small-run')}`,
        `--tmpdir=${path('small-tmp')}`,
      ];
      const child = spawn('podman', [...folders, 'system', 'service', '--time=0', `unix://${path('small.sock')}`], {
        cwd: folder,
        env,
        stdio: 'ignore',
      });
      self.keepPid('small', child.pid!);
      await waitFor('it to answer', () => answers(path('small.sock')));
      return path('small.sock');
    },
    remove: async () => {
      reaper.stdin.end();
      await reaped;
    },
  };
  root.teardown(self.remove);
  if (shared === undefined) {
    makeBaseTar(path('base.tar'));
    await self.importTar(path('base.tar'), BASE_IMAGE);
  }
  await self.startService();
  return self;
}

/** Returns true if the service answers; throws if it does not. */
async function answers(socket: string): Promise<boolean> {
  await new Docker({ socketPath: socket, host: '', protocol: 'http' }).ping();
  return true;
}
