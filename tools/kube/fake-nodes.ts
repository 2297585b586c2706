/** Nodes that kwok plays: no container runs there, but their Pods get the states of real ones. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@slipway/kit/time/clock';
import type { KubeObject } from './kube-api.ts';

export interface FakeNode {
  name: string;
  /** GPUs as the device plugin of NVIDIA counts them; default 0. */
  gpus?: number;
  labels?: Record<string, string>;
}

/** A port of all Pods that leads to a port of this host. */
export interface PortForward {
  pod: number;
  host: number;
}

/** Returns a node with 64 processors and 512 GiB. With GPUs it has the taint that GPU nodes usually have. */
export function nodeObject({ name, gpus = 0, labels = {} }: FakeNode): KubeObject {
  const resources = {
    cpu: '64',
    memory: '512Gi',
    pods: '110',
    'ephemeral-storage': '1Ti',
    ...(gpus > 0 && { 'nvidia.com/gpu': String(gpus) }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        ...(gpus > 0 && { 'nvidia.com/gpu.present': 'true' }),
        ...labels,
      },
    },
    spec: { ...(gpus > 0 && { taints: [{ key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' }] }) },
    status: {
      // kwok wipes both addresses if one of them is missing.
      addresses: [
        { type: 'InternalIP', address: '127.0.0.1' },
        { type: 'Hostname', address: name },
      ],
      capacity: resources,
      allocatable: resources,
    },
  };
}

/** Writes the configuration of kwok, and the log that all Pods have. Returns its path. */
export function kwokConfig(folder: string, forwards: readonly PortForward[]): string {
  const log = join(folder, 'pod.log');
  // In the format of container runtimes: kwok rejects others.
  writeFileSync(log, `${new Date(systemClock.nowMs()).toISOString()} stdout F hello from a fake Pod\n`);
  const file = join(folder, 'kwok.yaml');
  const stages = readFileSync(join(import.meta.dirname, 'fake-nodes.yaml'), 'utf8').replace('LOG_FILE', log);
  const ways = forwards.map(({ pod, host }) => ({ ports: [pod], target: { port: host, address: '127.0.0.1' } }));
  const forward = {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'ClusterPortForward',
    metadata: { name: 'forward' },
    spec: { forwards: ways },
  };
  writeFileSync(file, forwards.length === 0 ? stages : `${stages}---\n${JSON.stringify(forward)}\n`);
  return file;
}
