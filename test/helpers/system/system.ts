/** A whole Slipway in one process for a test: real PostgreSQL, real core replicas, a real facade and real agents. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import type { WaitBounds } from '@slipway/facades/activator/load-balancer';
import type { Facade } from '@slipway/facades/app';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import type { Agent } from '@slipway/gpu-agent/app';
import { buildAgent } from '@slipway/gpu-agent/app';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { createLogger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Test } from 'tap';
import { createDatabase } from '../db/database.ts';
import { call, grpcClients } from '../grpc/grpc-clients.ts';
import type { EndpointOptions } from './create-endpoint.ts';
import { createEndpoint } from './create-endpoint.ts';
import { publicRequest } from './public-api.ts';

export type { EndpointOptions } from './create-endpoint.ts';
export type { Answer, PublicJson } from './public-api.ts';

/** Options of a system. */
export interface SystemOptions {
  /** Number of core replicas. Default: 1. */
  cores?: number;
  /** Number of agents. With several cores, agent n joins core n. Default: 1. */
  agents?: number;
  /** More variables for the core, the facade or the agents. */
  coreEnv?: Record<string, string>;
  facadeEnv?: Record<string, string>;
  agentEnv?: Record<string, string>;
  /** Limits of waiting load-balancing requests. Default: as documented. */
  waits?: WaitBounds;
  /** Interval at which the facade re-authorizes a tunnel, in milliseconds. Default: as documented. */
  tunnelAuthorizeMs?: number;
  /**
   * Returns the transport of `core 1`, `facade`, `agent 1` or `test`, numbered in the order of starting. Default: the
   * machine's own for all.
   */
  transportOf?: (part: string) => Transport;
  /** Clock of the cores. Default: the machine's own. */
  coreClock?: Clock;
  /** Logger of all parts. Default: none, or as SLIPWAY_LOG_LEVEL says. */
  logger?: Logger;
}

export type System = Awaited<ReturnType<typeof startOwn>>;

let shared: { system: System; options: SystemOptions } | undefined;

/**
 * Makes every `startSystem` return this system until the test ends. A file can then import other test files to run them
 * behind its proxy. `options`: those that the system was started with, for files that need some of them.
 */
export function shareSystem(t: Test, system: System, options: SystemOptions = {}): void {
  shared = { system, options };
  t.teardown(() => {
    shared = undefined;
  });
}

/** Starts a system and stops it when the test ends. */
export async function startSystem(t: Test, options: SystemOptions = {}): Promise<System> {
  if (!shared) return startOwn(t, options);
  const { options: has, system } = shared;
  // A shared system with agents also serves files that need none.
  const { agents, coreEnv, facadeEnv, agentEnv, ...rest } = options;
  const fits = [
    [coreEnv, has.coreEnv],
    [facadeEnv, has.facadeEnv],
    [agentEnv, has.agentEnv],
  ].every(([needed, given]) => Object.entries(needed ?? {}).every(([name, value]) => given?.[name] === value));
  if (!fits || Object.keys(rest).length > 0 || (agents ?? 0) > 0)
    throw new Error('a file that needs a system of its own cannot run on another');
  return system;
}

async function startOwn(t: Test, options: SystemOptions) {
  const logger = options.logger ?? createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');
  const { transportOf = () => systemTransport, waits, tunnelAuthorizeMs } = options;
  const database = await createDatabase(t);
  const rootKey = randomBytes(24).toString('hex');
  const coreEnv = {
    SLIPWAY_DATABASE_URL: database.url,
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
    SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true',
    ...options.coreEnv,
  };
  const stops: (() => Promise<void>)[] = [];
  t.teardown(async () => {
    for (const stop of stops.toReversed()) await stop();
  });
  const cores: { address: string; metrics: string; services: readonly Service[]; stop(): Promise<void> }[] = [];
  /** Starts one more core on the same database. `address` replaces that of a core that was stopped. */
  const startCore = async (address = coreEnv.SLIPWAY_CORE_LISTEN) => {
    const core = buildCore(readCoreConfig({ ...coreEnv, SLIPWAY_CORE_LISTEN: address }), {
      logger,
      transport: transportOf(`core ${cores.length + 1}`),
      ...(options.coreClock && { clock: options.coreClock }),
    });
    const started = { ...(await core.start()), services: core.services, stop: () => core.stop() };
    stops.push(started.stop);
    return started;
  };
  for (let i = 0; i < (options.cores ?? 1); i += 1) cores.push(await startCore());
  const clients = grpcClients(cores[0]!.address, transportOf('test'));
  stops.push(async () => clients.close());
  const { accountId } = await call(clients.access, 'createAccount', { name: 'test' }, rootKey);
  const newKey = async (
    scope: KeyScope = KeyScope.ALL,
    account = accountId,
    endpointIds: string[] = [],
  ): Promise<string> => {
    // Keys of machines belong to no account.
    const owner = scope === KeyScope.AGENT ? '' : account;
    const fields = { name: 'test', scope, endpointIds, accountId: owner, permissions: undefined };
    return (await call(clients.keys, 'createKey', fields, rootKey)).secret;
  };
  const key = await newKey();
  /** A key that no machine uses until the test gives it to one. */
  const agentKey = await newKey(KeyScope.AGENT);

  const facade: Facade = buildFacade(
    readFacadeConfig({
      SLIPWAY_CORE_ADDRESS: cores.map((core) => core.address).join(','),
      SLIPWAY_HTTP_HOST: '127.0.0.1',
      SLIPWAY_HTTP_PORT: '0',
      SLIPWAY_GRAPHQL_AT_START: 'false',
      ...options.facadeEnv,
    }),
    {
      logger,
      transport: transportOf('facade'),
      ...(waits && { waits }),
      ...(tunnelAuthorizeMs && { tunnelAuthorizeMs }),
    },
  );
  const { url, metrics: facadeMetrics } = await facade.start();
  stops.push(() => facade.stop());

  const agentMetrics: string[] = [];
  const startAgent = async (coreAddress = cores[0]!.address, env: Record<string, string> = {}) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'slipway-agent-'));
    const agent: Agent = buildAgent(
      readAgentConfig({
        SLIPWAY_CORE_ADDRESS: coreAddress,
        SLIPWAY_AGENT_KEY: await newKey(KeyScope.AGENT),
        SLIPWAY_AGENT_DATA_DIR: dataDir,
        SLIPWAY_CPU_SLOTS: '16',
        // Handlers of tests write signal files into folders of the test's own user. test/e2e/worker-user.test.ts runs
        // workers as in production.
        SLIPWAY_WORKER_USER: 'same',
        SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
        SLIPWAY_AGENT_CONTAINERS: 'none',
        ...options.agentEnv,
        ...env,
      }),
      { logger, transport: transportOf(`agent ${agentMetrics.length + 1}`) },
    );
    agentMetrics.push((await agent.start()).metrics);
    stops.push(async () => {
      await agent.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    return agent;
  };
  for (let i = 0; i < (options.agents ?? 1); i += 1) await startAgent(cores[i % cores.length]!.address);

  return {
    url,
    key,
    agentKey,
    rootKey,
    accountId,
    cores,
    clients,
    database,
    facade,
    newKey,
    startCore,
    startAgent,
    /** Address of each process's metrics, host:port. */
    metrics: { core: cores[0]!.metrics, facade: facadeMetrics, agents: agentMetrics },
    request: publicRequest(url, key),
    /** Creates an endpoint. Default key: the system's. */
    createEndpoint: (given: EndpointOptions) => createEndpoint(clients, given.key ?? key, given),
    /** Ends the endpoint's workers and starts no others. */
    endWorkers: (id: string) =>
      call(
        clients.endpoints,
        'updateEndpoint',
        {
          endpoint: Endpoint.fromPartial({ id, workersMin: 0, workersMax: 0 }),
          updateMask: ['workers_min', 'workers_max'],
        },
        key,
      ),
  };
}
