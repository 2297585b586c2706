/** Images for tests, made of the files of this machine. */

import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PYTHONS, skipWithoutPython } from '../system/handlers.ts';
import type { TestEngine } from '../system/test-engine.ts';
import { writeSettings } from './podman-settings.ts';

const run = promisify(execFile);
/** A small image with a shell and Python, made from this host's files. */
export const BASE_IMAGE = 'localhost/slipway-base:1';
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
/** Packages that come with the SDK but that no worker loads. They are a third of the bytes and half of the files. */
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
/** An image with the packages of the new SDK, on which the run's workers' images are built. */
const SDK_IMAGE = 'localhost/slipway-sdk:1';
/** Fills the run's image store. All files read it, so nothing may change it or keep it mounted afterwards. */
export async function makeRunImages(folder: string, store: string): Promise<void> {
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

/**
 * Writes a root file system with a shell, a few programs and Python. `more`: further options and paths of tar.
 * `programs`: further programs of this host.
 */
export function makeBaseTar(file: string, more: readonly string[] = [], programs: readonly string[] = []): void {
  const python = execFileSync('/usr/bin/python3', ['-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))'], {
    encoding: 'utf8',
  }).trim();
  const all = [...PROGRAMS, ...programs];
  const libraries = librariesOf(`ls ${all.join(' ')} ${python}/lib-dynload/*.so`);
  const names = [...all, ...libraries, python].map((name) => name.slice(1));
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

/**
 * Writes a root file system like that of our published base image: this process's Node, a shell, and `programs` of this
 * host. `runnable`: programs that other layers add; the base has their libraries.
 */
export function makeNodeBaseTar(file: string, programs: readonly string[], runnable: readonly string[]): void {
  const node = realpathSync(process.execPath);
  const files = ['/bin/sh', '/usr/bin/env', '/usr/bin/readlink', '/usr/bin/find', ...programs];
  const libraries = librariesOf(`ls ${[node, ...files, ...runnable].join(' ')}`);
  const names = [...files, ...libraries, node].map((name) => name.slice(1));
  const options = ['--create', '--dereference', '--hard-dereference', '--file', file, '--directory=/'];
  execFileSync('tar', [...options, `--transform=s,^${node.slice(1)}$,usr/local/bin/node,`, ...new Set(names)]);
}

/** Returns the shared libraries needed by the files that a shell line lists. */
function librariesOf(list: string): string[] {
  const linked = execFileSync('sh', ['-c', `ldd $(${list}) 2>/dev/null || true`], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return [...new Set([...linked.matchAll(/(?:=>|^\t)\s*(\/\S+) \(/gm)].map((match) => match[1]!))];
}

export interface TestPodman extends TestEngine {
  /** Environment of Podman's command line. */
  env: Readonly<Record<string, string>>;
  /** Runs Podman's command line. Returns stdout. */
  cli(...args: string[]): Promise<string>;
  /** True if it reads the run's images and has none of its own. */
  sharesImages: boolean;
  /** Starts another service with its images on a disk of `mebibytes` MiB. Returns its socket. */
  smallDisk(mebibytes: number): Promise<string>;
  /**
   * Ends Podman and removes everything that it and its agents have made. The end of the test's process does the same.
   */
  remove(): Promise<void>;
}
