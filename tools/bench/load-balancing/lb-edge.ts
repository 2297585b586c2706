/** A real edge in front of a stack of the bench. */
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { askAdmin } from '@slipway/edge/admin';
import { adminSocket } from '@slipway/edge/config';
import { ENVOY } from '@slipway/test/helpers/system/edge';
import { Child } from '../child.ts';
import { memoryMib } from '../load/process-usage.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Stack } from '../stack/stack.ts';

export type BenchEdge = Awaited<ReturnType<typeof startLbEdge>>;

/** Returns false if there is no Envoy to measure. */
export function hasEnvoy(): boolean {
  return existsSync(ENVOY);
}

/** Starts an edge. */
export async function startLbEdge(stack: Stack) {
  const dataDir = await scratchFolder('edge-');
  const edge = await Child.start('edge/main.ts', {
    SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_DATA_DIR: dataDir,
    SLIPWAY_EDGE_ENVOY: ENVOY,
    SLIPWAY_EDGE_FACADES: new URL(stack.url).host,
    SLIPWAY_CORE_ADDRESS: stack.coreAddress,
    SLIPWAY_EDGE_KEY: stack.edgeKey,
    SLIPWAY_EDGE_ACCESS_LOG: 'false',
    SLIPWAY_EDGE_DRAIN_MS: '0',
    SLIPWAY_EDGE_REQUESTS_PER_ADDRESS: '10000000',
    SLIPWAY_LOG_LEVEL: 'error',
  });
  const { pid } = JSON.parse(readFileSync(join(dataDir, 'running.json'), 'utf8')) as { pid: number };
  const stats = async (filter: string): Promise<string> =>
    (await askAdmin(adminSocket(dataDir, 0), `/stats?filter=${filter}`)).text;
  return {
    url: `http://${edge.ready.addresses!['public']}`,
    pid,
    /** Returns the number of endpoints that Envoy knows. */
    clusters: async (): Promise<number> =>
      Number(/active_clusters: (\d+)/.exec(await stats('cluster_manager.active_clusters'))?.[1] ?? 0),
    /** Returns the number of bytes that Prometheus reads at once. */
    prometheusBytes: async (): Promise<number> =>
      (await askAdmin(adminSocket(dataDir, 0), '/stats/prometheus')).text.length,
    memoryMib: (): number => memoryMib(pid).now,
    stop: async (): Promise<void> => {
      await edge.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
