/**
 * A real Docker for one test: images, networks and socket lie in a folder that is removed when the test's process ends,
 * however it ends.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import { systemClock } from '@slipway/kit/time/clock';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import type { TestEngine } from '../system/test-engine.ts';
import { waitFor } from '../time/wait-for.ts';
import { BASE_IMAGE, makeBaseTar } from './podman-images.ts';
import { DROP_RULES } from './reap-rules.ts';

const run = promisify(execFile);

/**
 * The reason why Docker cannot be tested here, in one line; else false. Two Dockers on one host remove each other's
 * firewall rules.
 */
export const dockerSkip = whyNoDocker();

function whyNoDocker(): string | false {
  if (process.getuid?.() !== 0) return 'containers are tested as root';
  if (existsSync('/run/docker.sock')) return 'a Docker of this host runs';
  return ['/usr/sbin/dockerd', '/usr/bin/docker'].every((path) => existsSync(path)) ? false : 'needs docker.io';
}

/**
 * Blocks until the test's process closes the pipe or is gone. Then it removes all of that Docker, with its firewall
 * rules.
 */
const REAP = `${DROP_RULES}
cat >/dev/null
export DOCKER_HOST="unix://$1/docker.sock"
left=$(docker ps --all --quiet) && [ -n "$left" ] && docker rm --force $left
docker network prune --force
cat "$1/data/network/files/local-kv.db" | drop_rules
# At once: asked politely, it waits for what it has lost.
kill -9 $(grep -lzF -- "$1/" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3)
for table in nat filter; do
  iptables-save -t $table | grep -E '^-A .*DOCKER' | sed 's/^-A/-D/' | while read -r rule; do eval "iptables -w -t $table $rule"; done
  iptables-save -t $table | sed -n 's/^:\\(DOCKER[^ ]*\\) .*/\\1/p' | while read -r chain; do
    iptables -w -t $table -F $chain
    iptables -w -t $table -X $chain
  done
done
for mount in $(awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | sort -r); do umount -l "$mount"; done
rm -rf -- "$1"
`;

/** Mounts a file as a disk, which limits what containers write (btrfs accounts for each container). */
const MOUNT = 'mkdir "$1" && truncate -s 1G "$1.img" && mkfs.btrfs -q "$1.img" && mount -o loop "$1.img" "$1"';

export interface TestDocker extends TestEngine {
  /** Runs Docker's command line. Returns stdout. */
  cli(...args: string[]): Promise<string>;
  /**
   * Restarts Docker with the base image as its only image, on a disk that limits what containers write. Returns false
   * if this host cannot mount such a disk; nothing has changed then.
   */
  boundDisk(): Promise<boolean>;
}

let docker: Promise<TestDocker> | undefined;

/** Starts the Docker of this file's process, with the base image. */
export function startDocker(): Promise<TestDocker> {
  requireDeclared('alone');
  docker ??= start();
  return docker;
}

async function start(): Promise<TestDocker> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-docker-'));
  const path = (name: string): string => join(folder, name);
  const socket = path('docker.sock');
  const reaper = spawn('/bin/bash', ['-c', REAP, 'bash', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.stdin.on('error', () => undefined);
  const reaped = new Promise<void>((resolve) => {
    reaper.once('exit', () => resolve());
  });
  root.teardown(async () => {
    reaper.stdin.end();
    await reaped;
  });
  const env = { PATH: '/usr/bin:/bin', HOME: folder, DOCKER_HOST: `unix://${socket}` };
  const cli = async (...args: string[]): Promise<string> => (await run('docker', args, { env })).stdout;
  let service: ReturnType<typeof spawn> | undefined;
  const serve = async (data: string, ...more: string[]): Promise<void> => {
    // If the host's init does not reap orphans, the pid files of a killed Docker would prevent the next start.
    for (const name of ['docker.pid', 'exec/containerd/containerd.pid']) rmSync(path(name), { force: true });
    service = spawn(
      '/usr/sbin/dockerd',
      [
        `--host=unix://${socket}`,
        `--data-root=${data}`,
        `--exec-root=${path('exec')}`,
        `--pidfile=${path('docker.pid')}`,
        '--bridge=none',
        '--live-restore',
        ...more,
      ],
      { stdio: ['ignore', 'ignore', openSync(path('log'), 'w')] },
    );
    await waitFor('docker to answer', () => askEngine(socket, systemClock), 60_000);
  };
  const self: TestDocker = {
    socket,
    folder,
    cli,
    names: ({ all = false, paused = false } = {}) =>
      cli('ps', '--format={{.Names}}', ...(all ? ['--all'] : []), ...(paused ? ['--filter=status=paused'] : [])),
    exec: (container, ...command) => cli('exec', container, ...command),
    importTar: async (file, name, ...changes) => {
      await cli('import', ...changes.flatMap((line) => ['--change', line]), file, name);
    },
    push: async (image, name, { username, password }) => {
      const auths = { [name.split('/')[0]!]: { auth: Buffer.from(`${username}:${password}`).toString('base64') } };
      writeFileSync(path('config.json'), JSON.stringify({ auths }));
      await cli('tag', image, name);
      await cli('--config', folder, 'push', name);
      await cli('rmi', name);
    },
    // Docker does so with all registries of this host.
    trustRegistry: async () => undefined,
    // Containers keep running while the service is away, as with Podman.
    startService: () => serve(path('data')),
    boundDisk: async () => {
      const bounded = await run('/bin/bash', ['-c', MOUNT, 'bash', path('bounded')]).then(
        () => true,
        () => false,
      );
      if (!bounded) return false;
      const ended = new Promise((resolve) => {
        service?.once('exit', resolve);
      });
      service?.kill('SIGTERM');
      await ended;
      await serve(path('bounded'), '--storage-driver=btrfs');
      await self.importTar(path('base.tar'), BASE_IMAGE);
      return true;
    },
    killService: async () => {
      const gone = new Promise((resolve) => {
        service?.once('exit', resolve);
      });
      service?.kill('SIGKILL');
      await gone;
    },
    keepPid: (name, pid) => writeFileSync(path(`more-${name}.pid`), `${pid}\n`),
  };
  await self.startService();
  makeBaseTar(path('base.tar'));
  await self.importTar(path('base.tar'), BASE_IMAGE);
  return self;
}
