/**
 * Runs a whole Slipway in separate processes, as in production: PostgreSQL, cores, a facade, agents. A test can kill
 * each.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadyMessage } from '@slipway/dev/processes/node-process';
import { nodeProcess } from '@slipway/dev/processes/node-process';
import type { ProcessPlan } from '@slipway/dev/processes/supervised-process';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import { Child } from '../child.ts';
import { startPostgres } from '../db/throwaway-postgres.ts';
import { call, grpcClients } from '../grpc/grpc-clients.ts';
import { openFolder } from '../open-folder.ts';
import type { EndpointOptions } from './create-endpoint.ts';
import { createEndpoint } from './create-endpoint.ts';
import { ENVOY } from './edge.ts';
import { publicRequest } from './public-api.ts';

const root = join(import.meta.dirname, '../../..');
const FAILING_NAMES = join(import.meta.dirname, '../net/failing-names.cjs');
/** The name that failing-names.cjs finds: it is this host's. */
const NAME = 'slipway.test';

/** Options of the processes. */
export interface ProcessOptions {
  /** Number of core replicas. Default: 1. */
  cores?: number;
  /** Number of facades, each named `facade-N` if there are several. Default: 1. */
  facades?: number;
  /** Number of agents. Each knows all cores. Default: 1. */
  agents?: number;
  /** More variables for cores and the facade. */
  env?: Record<string, string>;
  /** More variables for the agents, or for each by its number from 1. Default: no containers. */
  agentEnv?: Record<string, string> | ((number: number) => Record<string, string>);
  /** Address on which cores listen. Default: one that only this host reaches. */
  host?: string;
  /** Returns a command that runs a process (`agent-1`) on another host. `undefined`: on this one. */
  inside?(name: string): readonly string[] | undefined;
  /** Returns the folder of the release that a process (`core-1`) runs, at each start. `undefined`: this release. */
  release?(name: string): string | undefined;
  /** Returns the address at which cores reach the database, for instance through a proxy. Default: `url` itself. */
  databaseUrl?(url: string): Promise<string>;
  /** Addresses of the database for each core. Default: `databaseUrl` for all. */
  databaseUrls?: readonly string[];
  /** True: clients reach the facades through the real Envoy. Default false. */
  edge?: boolean;
  /** True: all parts and the database are found by names, which `failNames` lets fail. Default false: by addresses. */
  names?: boolean;
}

export type Processes = Awaited<ReturnType<typeof startProcesses>>;

/** Starts everything and ends it with the test. Every process keeps its port and its data across restarts. */
export async function startProcesses(t: Test, options: ProcessOptions = {}) {
  const folder = await openFolder(t);
  const server = await startPostgres();
  const database = server.child;
  const children: Child<unknown>[] = [];
  /** Records the cause if a process ends by itself: the test then waits for something that cannot happen. */
  const watch = <Ready>(child: Child<Ready>): Child<Ready> => {
    child.onEndedByItself = (how) => {
      t.fail(how);
    };
    children.push(child);
    return child;
  };
  watch(database);
  const failing = join(folder, 'names-fail');
  const host = options.host ?? '127.0.0.1';
  const named = (text: string): string => (options.names ? text.replaceAll(host, NAME) : text);
  const databaseUrl = named((await options.databaseUrl?.(server.url())) ?? server.url());
  t.teardown(async () => {
    if (!t.passing()) for (const child of children) t.comment(`${child.name}: ${child.tail}`);
    for (const child of children.toReversed()) await child.stop();
    await server.remove();
  });
  /** `env` is evaluated at every start. A server takes any port at its first start and keeps it later. */
  const run = async (name: string, file: string, env: () => Record<string, string>) => {
    const plan = (): ProcessPlan<ReadyMessage> =>
      nodeProcess({
        name,
        root: options.release?.(name) ?? root,
        file,
        inside: options.inside?.(name),
        logDir: folder,
        env: () => ({
          ...process.env,
          ...(options.names && {
            NODE_OPTIONS: `--require=${FAILING_NAMES}`,
            SLIPWAY_TEST_NAMES_FAIL: failing,
            SLIPWAY_TEST_NAMED: host,
          }),
          ...env(),
        }),
      });
    const child = watch(new Child<ReadyMessage>({ ...plan(), spawn: (output) => plan().spawn(output) }));
    const ready = await child.start();
    if (ready.metrics) metrics.set(name, ready.metrics);
    return { child, ready };
  };

  const metrics = new Map<string, string>();
  const rootKey = randomBytes(24).toString('hex');
  const secretKey = randomBytes(32).toString('hex');
  const addresses: string[] = [];
  const cores: Child<ReadyMessage>[] = [];
  for (let i = 0; i < (options.cores ?? 1); i += 1) {
    const { child, ready } = await run(`core-${i + 1}`, 'core/main.ts', () => ({
      SLIPWAY_DATABASE_URL: options.databaseUrls?.[i] ?? databaseUrl,
      SLIPWAY_CORE_LISTEN: addresses[i] ?? `${host}:0`,
      ...(options.host !== undefined && { SLIPWAY_CORE_PLAINTEXT: 'true' }),
      SLIPWAY_ROOT_KEY: rootKey,
      SLIPWAY_SECRET_KEY: secretKey,
      SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true',
      ...options.env,
    }));
    addresses[i] = ready.address!;
    cores.push(child);
  }
  const clients = grpcClients(addresses[0]!);
  t.teardown(() => clients.close());
  const { accountId } = await call(clients.access, 'createAccount', { name: 'test' }, rootKey);
  const newKey = async (scope: KeyScope): Promise<string> => {
    // Keys of machines belong to no account.
    const owner = scope === KeyScope.AGENT ? '' : accountId;
    const fields = { name: 'test', scope, endpointIds: [], accountId: owner, permissions: undefined };
    return (await call(clients.keys, 'createKey', fields, rootKey)).secret;
  };
  const key = await newKey(KeyScope.ALL);

  const everyCore = named(addresses.join(','));
  const urls: string[] = [];
  const facades: Child<ReadyMessage>[] = [];
  const facadeCount = options.facades ?? 1;
  for (let i = 0; i < facadeCount; i += 1) {
    const { child, ready } = await run(facadeCount === 1 ? 'facade' : `facade-${i + 1}`, 'facades/main.ts', () => ({
      SLIPWAY_CORE_ADDRESS: everyCore,
      SLIPWAY_HTTP_HOST: '127.0.0.1',
      SLIPWAY_HTTP_PORT: urls[i] === undefined ? '0' : new URL(urls[i]!).port,
      SLIPWAY_GRAPHQL_AT_START: 'false',
      ...options.env,
    }));
    urls[i] = ready.url!;
    facades.push(child);
  }
  let url = urls[0]!;
  let edge: Child<ReadyMessage> | undefined;
  if (options.edge) {
    let listen = '127.0.0.1:0';
    const { child, ready } = await run('edge', 'edge/main.ts', () => ({
      SLIPWAY_EDGE_FACADES: urls.map((each) => new URL(each).host).join(','),
      SLIPWAY_EDGE_LISTEN: listen,
      SLIPWAY_EDGE_DATA_DIR: join(folder, 'edge'),
      SLIPWAY_EDGE_ENVOY: ENVOY,
      SLIPWAY_EDGE_THREADS: '1',
    }));
    listen = ready.addresses!['public']!;
    url = `http://${listen}`;
    edge = child;
  }
  const agents: Child<ReadyMessage>[] = [];
  for (let i = 0; i < (options.agents ?? 1); i += 1) {
    const dataDir = join(folder, `agent-${i + 1}`);
    await mkdir(dataDir);
    const agentKey = await newKey(KeyScope.AGENT);
    const { child } = await run(`agent-${i + 1}`, 'gpu-agent/main.ts', () => ({
      SLIPWAY_CORE_ADDRESS: everyCore,
      SLIPWAY_AGENT_KEY: agentKey,
      SLIPWAY_AGENT_DATA_DIR: dataDir,
      SLIPWAY_AGENT_NAME: `machine-${i + 1}`,
      SLIPWAY_CPU_SLOTS: '4',
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      SLIPWAY_AGENT_CONTAINERS: 'none',
      ...(typeof options.agentEnv === 'function' ? options.agentEnv(i + 1) : options.agentEnv),
    }));
    agents.push(child);
  }
  const sql = postgres(server.url(), { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  return {
    /** Removed at the end of the test. Handlers may write their signal files there. */
    folder,
    /** Of the edge, if there is one, else of the first facade. */
    url,
    /** The supervisor of Envoy; its Envoy ends with it. */
    edge,
    /** Lets no name be found from now on, or again. Needs the option `names`. */
    failNames: (isFailing: boolean) => (isFailing ? writeFile(failing, '') : rm(failing, { force: true })),
    /** Address of each facade. */
    facadeUrls: urls,
    key,
    rootKey,
    clients,
    sql,
    database,
    cores,
    facade: facades[0]!,
    facades,
    agents,
    /** host:port of the metrics that a process, such as `core-1`, served after its first start. */
    metrics,
    /** host:port of each core. */
    coreAddresses: addresses,
    request: publicRequest(url, key),
    createEndpoint: (given: EndpointOptions) => createEndpoint(clients, key, given),
  };
}
