/** A cluster with a real node for one test file. A machine has room for one: its address and its folders are fixed. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import type { Cluster } from '@slipway/tools/kube/cluster';
import { startCluster } from '@slipway/tools/kube/cluster';
import { hasKube, hasNodePrograms, kubeFolder } from '@slipway/tools/kube/kube-programs';
import { realNodeFault } from '@slipway/tools/kube/real-node/real-node-fault';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import { podmanSkip } from '../engines/podman-skip.ts';
import { quietPort } from '../net/ports.ts';
import { waitFor } from '../time/wait-for.ts';

/** Longest wait for another run on this machine, in milliseconds. */
const TURN_MS_MAX = 600_000;

/** Returns false for tap's `skip` option if a real node can run here, else one line that says what to do. */
export function skipWithoutRealNode(): false | string {
  requireDeclared('kubernetes-node');
  if (podmanSkip) return podmanSkip;
  const fault = realNodeFault();
  if (fault !== undefined) return fault;
  return hasKube() && hasNodePrograms() ? false : 'needs a real node: run `npm run kube -- --real-node --build`';
}

/** Starts a cluster whose only node is real. It ends with the test file. */
export async function startRealCluster(): Promise<Cluster> {
  const unlock = await waitFor('the turn', takeTurn, TURN_MS_MAX);
  const folder = await mkdtemp(join(tmpdir(), 'slipway-kube-'));
  const ports = [await quietPort(), await quietPort(), await quietPort(), await quietPort()] as const;
  const cluster = await startCluster({ folder, ports, controllers: true, realNode: true });
  root.teardown(async () => {
    await cluster.stop();
    unlock();
  });
  return cluster;
}

async function takeTurn(): Promise<(() => void) | false> {
  try {
    return await lockFolder(kubeFolder(), 'real-node');
  } catch (error) {
    if (error instanceof FolderLockedError) return false;
    throw error;
  }
}
