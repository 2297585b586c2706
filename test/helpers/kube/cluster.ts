/** A real Kubernetes control plane for one test file (tools/kube). */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '@slipway/tools/kube/cluster';
import { startCluster } from '@slipway/tools/kube/cluster';
import type { FakeNode, PortForward } from '@slipway/tools/kube/fake-nodes';
import { hasKube } from '@slipway/tools/kube/kube-programs';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import { quietPort } from '../net/ports.ts';

/** Returns false for tap's `skip` option if Kubernetes is built, else one line that says what to do. */
export function skipWithoutKube(): false | string {
  requireDeclared('kubernetes');
  return hasKube() ? false : 'needs Kubernetes: run `npm run kube -- --build`, which needs Go 1.26 or PyPI';
}

interface ClusterOptions {
  /**
   * Also starts the scheduler and the controllers, which takes ten seconds more. Default: false, so Pods must name a
   * node.
   */
  controllers?: boolean;
  /** Nodes that kwok plays; default none, and no kwok. */
  nodes?: readonly FakeNode[];
  /** Ports of Pods on kwok's nodes that are forwarded to ports of this host. */
  forwards?: readonly PortForward[];
}

/** Starts a cluster that ends with the test file. */
export async function startKube({ controllers = false, nodes, forwards = [] }: ClusterOptions = {}): Promise<Cluster> {
  requireDeclared('kubernetes');
  const folder = await mkdtemp(join(tmpdir(), 'slipway-kube-'));
  const ports = [await quietPort(), await quietPort(), await quietPort(), await quietPort()] as const;
  const cluster = await startCluster({ folder, ports, controllers, forwards, ...(nodes && { nodes }) });
  root.teardown(() => cluster.stop());
  return cluster;
}
