/** A whole system of the previous release, each part of which can be replaced by one of either release. */
import { rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadyMessage } from '@slipway/dev/processes/node-process';
import { askAdmin } from '@slipway/edge/admin';
import { adminSocket } from '@slipway/edge/config';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import type { Child } from '../../helpers/child.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import type { RunningEdge } from '../../helpers/system/edge.ts';
import { startEdgeOf } from '../../helpers/system/edge.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../../..');
export const EDGE_KEY = 'edge-key-of-this-test-0123456789';

/** Parts in the order in which the documents replace them. */
export const DOCUMENTED = ['core-1', 'core-2', 'facade-1', 'facade-2', 'edge', 'agent-1', 'worker'] as const;

export type Part = (typeof DOCUMENTED)[number];
export type Release = 'previous' | 'this';
export type ReplaceableSystem = Awaited<ReturnType<typeof startReplaceable>>;

/** Starts two cores, two facades behind an edge, and an agent, all of the release in the folder `previous`. */
export async function startReplaceable(t: Test, previous: string) {
  const folders: Record<Release, string> = { previous, this: root };
  const releases = new Map<string, Release>();
  const releaseOf = (name: string): string => folders[releases.get(name) ?? 'previous'];
  /** Read at each start of a core or a facade. */
  const env: Record<string, string> = { SLIPWAY_EDGE_KEY: EDGE_KEY };
  const processes = await startProcesses(t, {
    cores: 2,
    facades: 2,
    env,
    agentEnv: { SLIPWAY_CPU_SLOTS: '8' },
    release: releaseOf,
  });
  const edgeEnv: Record<string, string> = {};
  const edge = await startReplaceableEdge(t, processes, releaseOf, edgeEnv);
  const worker = await workerModule(processes.folder, releaseOf);
  /** Versions of endpoints whose workers have been restarted. */
  const versions = new Map<string, number>();
  const children = new Map<string, Child<ReadyMessage>>(
    [...processes.cores, ...processes.facades, ...processes.agents].map((child) => [child.name, child]),
  );
  return {
    ...processes,
    request: publicRequest(edge.url, processes.key),
    /** Variables of cores and facades, which a later start of one sees. */
    env,
    /** Variables of the edge, which replace its first ones. */
    edgeEnv,
    /** Returns the command of a handler that runs with the worker module of the release that is in place. */
    handler: (file: string): string[] =>
      jsHandler(file).map((word) => (word === join(root, 'worker/register.ts') ? worker.file : word)),
    process: (name: Part): Child<ReadyMessage> => children.get(name)!,
    releases,
    /** Replaces a part as its supervisor or the documents do. `endpointIds`: whose workers follow the module. */
    replace: async (name: Part, release: Release, endpointIds: readonly string[]): Promise<void> => {
      releases.set(name, release);
      if (name === 'edge') return edge.replace();
      if (name === 'worker') {
        await worker.replace();
        for (const id of endpointIds) versions.set(id, await restartWorkers(processes, id));
        return;
      }
      const child = children.get(name)!;
      await child.stop();
      await child.start();
      if (name.startsWith('facade-')) await edge.facadesReady();
    },
    /** Resolves when all workers run the version that they were restarted for. */
    workersReplaced: async (): Promise<void> => {
      const { clients, key } = processes;
      for (const [endpointId, version] of versions)
        await waitFor('the workers to be new', async () => {
          const { workers } = await call(clients.machines, 'listWorkers', { endpointId }, key);
          const isNew = workers.every((each) => each.version >= version);
          return isNew && workers.some(({ state }) => state === WorkerState.READY);
        });
    },
  };
}

type Processes = Awaited<ReturnType<typeof startProcesses>>;

async function startReplaceableEdge(
  t: Test,
  processes: Processes,
  releaseOf: (name: string) => string,
  env: Readonly<Record<string, string>>,
) {
  const listen = `127.0.0.1:${await quietPort()}`;
  const settings = {
    SLIPWAY_EDGE_KEY: EDGE_KEY,
    SLIPWAY_EDGE_LISTEN: listen,
    SLIPWAY_EDGE_FACADES: processes.facadeUrls.map((url) => new URL(url).host).join(),
    SLIPWAY_CORE_ADDRESS: processes.coreAddresses.join(),
  };
  let epoch = 0;
  let edge: RunningEdge = await startEdgeOf(releaseOf('edge'), t, settings);
  return {
    url: `http://${listen}`,
    /** Resolves when the edge counts all facades as ready. Before that, the next one must not be stopped. */
    facadesReady: () =>
      waitFor('the edge to see all facades', async () => {
        const socket = adminSocket(edge.dataDir, epoch);
        const { text } = await askAdmin(socket, '/stats?filter=cluster.facades.membership_healthy');
        return text.includes(`: ${processes.facadeUrls.length}`);
      }),
    /** Another one takes over. */
    replace: async (): Promise<void> => {
      edge.mayEnd = true;
      const { dataDir } = edge;
      const given = { ...settings, ...env, SLIPWAY_EDGE_DATA_DIR: dataDir };
      edge = await startEdgeOf(releaseOf('edge'), t, given, '--take-over');
      epoch += 1;
    },
  };
}

/** Returns a link to the worker module that new workers load. */
async function workerModule(folder: string, releaseOf: (name: string) => string) {
  const link = join(folder, 'worker-module');
  const replace = async (): Promise<void> => {
    await symlink(join(releaseOf('worker'), 'worker'), `${link}.next`);
    await rename(`${link}.next`, link);
  };
  await replace();
  return { file: join(link, 'register.ts'), replace };
}

/** Lets the workers of an endpoint be replaced without a gap, each when its jobs have ended. */
async function restartWorkers({ clients, key }: Processes, id: string): Promise<number> {
  return waitFor('core to restart the workers', async () => {
    const { endpoint } = await call(clients.endpoints, 'restartEndpoint', { id, atOnce: undefined }, key);
    return endpoint!.version;
  });
}
