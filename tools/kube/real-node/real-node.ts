/**
 * A real node of a cluster: kubelet and containerd, as root. Both have a mount namespace of their own, which takes all
 * their mounts along when they end, and in which empty file systems lie over the folders that they write to.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runProgram } from '@slipway/dev/processes/run-program';
import { kubeFolder, kubeProgram } from '../kube-programs.ts';
import type { Programs } from '../programs.ts';
import { CNI, CONTAINERD, END, kubeletConfig, NAMESPACE } from './node-files.ts';
import { writePauseImage } from './pause-image.ts';

/** Name of the node. Its user in the cluster is `system:node:` and this. */
export const REAL_NODE = 'real-0';
/** Its address, on the loopback interface: a kubelet refuses 127.0.0.1. Pods reach the host there. */
export const REAL_NODE_IP = '10.99.0.1';

interface RealNodeOptions {
  /** Folder of the cluster. */
  folder: string;
  programs: Programs;
  /** Path of the node's kubeconfig. */
  kubeconfig: string;
}

/** Makes the certificate by which the API server calls the kubelet. Returns the server's options. */
export function kubeletClient(folder: string): string[] {
  const path = (name: string): string => join(folder, `kubelet-client.${name}`);
  const subject = ['-subj', '/O=system:masters/CN=apiserver-kubelet-client', '-addext', 'extendedKeyUsage=clientAuth'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', path('key')];
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '30', ...subject, '-out', path('crt')], { stdio: 'pipe' });
  return [`--kubelet-client-certificate=${path('crt')}`, `--kubelet-client-key=${path('key')}`];
}

/** Starts both programs. The node is ready some seconds later. */
export async function startRealNode({ folder, programs, kubeconfig }: RealNodeOptions): Promise<void> {
  const root = join(folder, 'node');
  const path = (name: string): string => join(root, name);
  for (const name of ['', 'cni-conf', 'cgroup']) mkdirSync(path(name), { recursive: true });
  const given = { root, programs: kubeFolder(), ip: REAL_NODE_IP, cgroup: basename(folder) };
  writeFileSync(path('containerd.toml'), CONTAINERD(given));
  writeFileSync(path('cni-conf/10-slipway.conflist'), CNI(given));
  writeFileSync(path('kubelet.json'), kubeletConfig({ ...given, clientCaFile: join(folder, 'kubelet-client.crt') }));
  writeFileSync(path('namespace.sh'), NAMESPACE(given));
  writeFileSync(path('end.sh'), END(given));
  programs.start('containerd', ['--mount', '--propagation=private', 'sh', path('namespace.sh')], 'unshare');
  await programs.until('containerd', () => existsSync(path('containerd.sock')));
  const image = writePauseImage(path('pause'), kubeProgram('pause'));
  const ctr = ['--address', path('containerd.sock'), '--namespace=k8s.io', 'images', 'import', image];
  await runProgram(kubeProgram('ctr'), ctr, { signal: new AbortController().signal });
  const namespace = ['--target', String(programs.pid('containerd')), '--mount', '--'];
  programs.start(
    'kubelet',
    [
      ...namespace,
      kubeProgram('kubelet'),
      `--config=${path('kubelet.json')}`,
      `--kubeconfig=${kubeconfig}`,
      `--root-dir=${path('kubelet')}`,
      `--cert-dir=${path('kubelet-tls')}`,
      `--hostname-override=${REAL_NODE}`,
      `--node-ip=${REAL_NODE_IP}`,
    ],
    'nsenter',
  );
}
