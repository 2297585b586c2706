/**
 * A real Podman for one test: storage, networks and socket lie in a folder that is removed when the test's process
 * ends, however it ends.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import { PYTHONS, skipWithoutPython } from '../system/handlers.ts';
import type { TestEngine } from '../system/test-engine.ts';
import { claimNumber } from '../time/claim-number.ts';
import { waitFor } from '../time/wait-for.ts';
import { DROP_RULES } from './reap-rules.ts';
import { runImages } from './run-images.ts';

const run = promisify(execFile);

export { podmanSkip } from './podman-skip.ts';

/** A small image with a shell and Python, made from this host's files. */
export const BASE_IMAGE = 'localhost/slipway-base:1';

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

/** Programs of this host that go into an image. ldd finds the libraries that they need. */
const PROGRAMS = [
  '/bin/sh',
  '/bin/sleep',
  '/bin/cat',
  '/bin/ls',
  '/bin/dd',
  '/bin/mkdir',
  '/usr/bin/id',
  '/usr/bin/env',
  '/usr/bin/python3',
];
const LEFT_OUT = ['test', 'config-3*', 'idlelib', 'pydoc_data', 'lib2to3', 'tkinter', 'ensurepip', 'pip', 'setuptools'];

/**
 * Packages that come with the SDK and that no worker loads. They are a third of the bytes and half of the files, which
 * an engine writes one by one.
 */
const UNUSED_PACKAGES = [
  'botocore/data',
  'dns',
  'fastapi_cloud_cli',
  'google',
  'markdown_it',
  'prompt_toolkit',
  'pygments',
  'rich',
  'sentry_sdk',
  'wcwidth',
];

export interface TestPodman extends TestEngine {
  /** Environment of Podman's command line. */
  env: Readonly<Record<string, string>>;
  /** Runs Podman's command line. Returns stdout. */
  cli(...args: string[]): Promise<string>;
  /** True if it reads the run's images and has none of its own. */
  sharesImages: boolean;
  /** Starts another service whose images lie on a disk of `mebibytes` MiB. Returns its socket. */
  smallDisk(mebibytes: number): Promise<string>;
  /** Ends Podman and removes all that it and its agents have made, as the end of the test's process does. */
  remove(): Promise<void>;
}

let podman: Promise<TestPodman> | undefined;

/** An image with the packages of the new SDK, on which the run's workers' images are built. */
const SDK_IMAGE = 'localhost/slipway-sdk:1';

/**
 * Starts the Podman of this file's process, with the base image. `ownImages` is for tests that add and remove images,
 * which must not exist at the start.
 */
export function startPodman({ ownImages = false } = {}): Promise<TestPodman> {
  requireDeclared('alone');
  podman ??= start(ownImages);
  return podman;
}

async function start(ownImages: boolean): Promise<TestPodman> {
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
      service = spawn('podman', ['system', 'service', '--time=0', `unix://${path('podman.sock')}`], {
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

/** Lowest second byte of the networks' addresses. */
const NETWORK_MIN = 100;
const NETWORKS = 150;

/**
 * Writes settings with which Podman works on cgroup v1 and v2, with and without systemd, and on small virtual machines.
 * Returns the environment for them.
 */
async function writeSettings(
  folder: string,
  more = '',
  graph = join(folder, 'graph'),
): Promise<Record<string, string>> {
  const path = (name: string): string => join(folder, name);
  // Each Podman has its own address range: those of files that run at the same time must not overlap.
  const network = `10.${NETWORK_MIN + (await claimNumber('networks', NETWORKS))}.0.0/16`;
  writeFileSync(
    path('containers.conf'),
    `
[containers]
default_ulimits=["nofile=20000:20000","nproc=4096:4096"]
log_driver="k8s-file"
[engine]
runtime="runc"
cgroup_manager="cgroupfs"
events_logger="file"
tmp_dir="${path('tmp')}"
[network]
network_backend="netavark"
network_config_dir="${path('networks')}"
default_subnet_pools=[{base="${network}",size=24}]
`,
  );
  writeFileSync(
    path('storage.conf'),
    `[storage]\ndriver="overlay"\ngraphroot="${graph}"\nrunroot="${path('run')}"\n${more}`,
  );
  writeFileSync(path('registries.conf'), '');
  return {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: folder,
    CONTAINERS_CONF: path('containers.conf'),
    CONTAINERS_STORAGE_CONF: path('storage.conf'),
    CONTAINERS_REGISTRIES_CONF: path('registries.conf'),
  };
}

/** Fills the run's image store. Every file reads it, so it must neither change nor stay mounted afterwards. */
async function makeRunImages(folder: string, store: string): Promise<void> {
  const maker = join(folder, 'maker');
  mkdirSync(maker);
  const env = await writeSettings(maker, '[storage.options.overlay]\nskip_mount_home="true"\n', store);
  const tar = join(maker, 'image.tar');
  makeBaseTar(tar);
  await run('podman', ['import', tar, BASE_IMAGE], { env });
  if (skipWithoutPython('new') === false) {
    makeBaseTar(tar, packagesOf(PYTHONS.new));
    await run('podman', ['import', tar, SDK_IMAGE], { env });
  }
  rmSync(tar);
}

/** Makes an image of an unmodified Python worker: a venv's packages on this host's Python, and one handler. */
export async function makeWorkerImage(
  engine: TestEngine & Partial<TestPodman>,
  python: string,
  handler: string,
  name: string,
): Promise<void> {
  const copy = join(engine.folder, 'handler.py');
  copyFileSync(handler, copy);
  const command = 'CMD ["/usr/bin/python3","-u","/app/handler.py"]';
  if (engine.sharesImages && python === PYTHONS.new) {
    const context = mkdtempSync(join(engine.folder, 'build-'));
    copyFileSync(handler, join(context, 'handler.py'));
    writeFileSync(join(context, 'Containerfile'), `FROM ${SDK_IMAGE}\nCOPY handler.py /app/handler.py\n${command}\n`);
    await engine.cli!('build', '--quiet', '--pull=never', '--tag', name, context);
    return;
  }
  const file = join(engine.folder, 'worker.tar');
  makeBaseTar(file, [...packagesOf(python), `--transform=s,^${copy.slice(1)},app/handler.py,`, copy.slice(1)]);
  await engine.importTar(file, name, command);
  rmSync(file);
}

/** Returns options and paths of tar for a venv's packages. */
function packagesOf(python: string): string[] {
  const packages = realpathSync(
    execFileSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], { encoding: 'utf8' }).trim(),
  );
  const system = execFileSync('/usr/bin/python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], {
    encoding: 'utf8',
  }).trim();
  return [
    ...UNUSED_PACKAGES.map((name) => `--exclude=${packages.slice(1)}/${name}`),
    `--transform=s,^${packages.slice(1)},usr/local/lib/python${system}/dist-packages,`,
    packages.slice(1),
    'etc/ssl/certs',
    'etc/ssl/openssl.cnf',
    ...librariesOf(`find ${packages} -name '*.so*'`)
      .filter((library) => !library.startsWith(packages))
      .map((library) => library.slice(1)),
  ];
}

/** Writes a root file system with a shell, a few programs and Python; `more` are further options and paths of tar. */
export function makeBaseTar(file: string, more: readonly string[] = []): void {
  const python = execFileSync('/usr/bin/python3', ['-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))'], {
    encoding: 'utf8',
  }).trim();
  const libraries = librariesOf(`ls ${PROGRAMS.join(' ')} ${python}/lib-dynload/*.so`);
  const names = [...PROGRAMS, ...libraries, python].map((name) => name.slice(1));
  execFileSync('tar', [
    '--create',
    '--dereference',
    '--hard-dereference',
    '--file',
    file,
    ...LEFT_OUT.map((name) => `--exclude=*/${name}`),
    '--directory=/',
    // A duplicate name would make the layer unreadable.
    ...new Set([...names, ...more]),
  ]);
}

/** Returns the shared libraries needed by the files that a shell line lists. */
function librariesOf(list: string): string[] {
  const linked = execFileSync('sh', ['-c', `ldd $(${list}) 2>/dev/null || true`], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return [...new Set([...linked.matchAll(/(?:=>|^\t)\s*(\/\S+) \(/gm)].map((match) => match[1]!))];
}
