/** A whole Slipway in one process for a test: real PostgreSQL, real core replicas, a real facade and real agents. */
import { mkdtemp, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { readCoreConfig } from '../../core/config.ts';
import { buildCore } from '../../core/app.ts';
import { createLogger } from '../../core/runtime/logger.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { readFacadeConfig } from '../../facades/config.ts';
import { buildFacade } from '../../facades/app.ts';
import { readAgentConfig } from '../../gpu-agent/config.ts';
import { buildAgent } from '../../gpu-agent/app.ts';
import { Endpoint } from '../../proto/gen/slipway/v1/endpoint.ts';
import { KeyScope } from '../../proto/gen/slipway/v1/access_service.ts';
import { Template } from '../../proto/gen/slipway/v1/template_service.ts';
import { createDatabase } from './database.ts';
import { call, grpcClients } from './grpc-clients.ts';
import { waitFor } from './wait-for.ts';

/** What to start. */
export interface SystemOptions {
  /** Core replicas. Default 1. */
  cores?: number;
  /** Agents. Default 1. With several cores, agent n joins core n. */
  agents?: number;
  /** More variables for the core, the facade or the agents. */
  coreEnv?: Record<string, string>;
  facadeEnv?: Record<string, string>;
  agentEnv?: Record<string, string>;
  /** Where all parts log to. Default: nowhere, or as SLIPWAY_LOG_LEVEL says. */
  logger?: Logger;
}

/** An endpoint to create. */
export interface EndpointOptions {
  /** Command that runs the handler: jsHandler('echo.js') or pythonHandler('new', 'echo.py'). */
  command: string[];
  /** Fields of the endpoint over { workersMin: 1 }. */
  fields?: Partial<Endpoint>;
  workersMax?: number;
  retryLimit?: number;
  env?: Record<string, string>;
  /** Wait until this many workers are ready. Default workersMin. */
  ready?: number;
  /** Account key to use. Default the system's. */
  key?: string;
}

/** An answer of the public API. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: PublicJson;
}

/** Whatever a public answer may carry; a test that reads a field says by that that it must be there. */
export interface PublicJson {
  [name: string]: unknown;
  id: string;
  status: string;
  output: unknown;
  error: string;
  code: string;
  delayTime: number;
  executionTime: number;
  retries: number;
  workerId: string;
  removed: number;
}

export type System = Awaited<ReturnType<typeof startSystem>>;

/** Starts a system and stops it when the test ends. */
export async function startSystem(t: Test, options: SystemOptions = {}) {
  const logger = options.logger ?? createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');
  const database = await createDatabase(t);
  const rootKey = randomBytes(24).toString('hex');
  const coreEnv = {
    SLIPWAY_DATABASE_URL: database.url, SLIPWAY_CORE_LISTEN: '127.0.0.1:0', SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'), SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true', ...options.coreEnv,
  };
  const stops: (() => Promise<void>)[] = [];
  t.teardown(async () => { for (const stop of stops.toReversed()) await stop(); });
  const cores: { address: string; stop(): Promise<void> }[] = [];
  /** Starts one more core on the same database; `address` takes the place of one that was stopped. */
  const startCore = async (address = '127.0.0.1:0') => {
    const core = buildCore(readCoreConfig({ ...coreEnv, SLIPWAY_CORE_LISTEN: address }), { logger });
    const started = { address: (await core.start()).address, stop: () => core.stop() };
    stops.push(started.stop);
    return started;
  };
  for (let i = 0; i < (options.cores ?? 1); i += 1) cores.push(await startCore());
  const clients = grpcClients(cores[0]!.address);
  stops.push(async () => clients.close());
  const { accountId } = await call(clients.access, 'createAccount', { name: 'test' }, rootKey);
  const newKey = async (scope: KeyScope = KeyScope.ALL, account = accountId, endpointIds: string[] = []): Promise<string> =>
    (await call(clients.keys, 'createKey', { name: 'test', scope, endpointIds, accountId: account }, rootKey)).secret;
  const key = await newKey();
  const agentKey = await newKey(KeyScope.AGENT);

  const facade = buildFacade(readFacadeConfig({
    SLIPWAY_CORE_ADDRESS: cores.map((core) => core.address).join(','), SLIPWAY_HTTP_HOST: '127.0.0.1', SLIPWAY_HTTP_PORT: '0', ...options.facadeEnv,
  }), { logger });
  const { url } = await facade.start();
  stops.push(() => facade.stop());

  const startAgent = async (coreAddress = cores[0]!.address, env: Record<string, string> = {}) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'slipway-agent-'));
    const agent = buildAgent(readAgentConfig({
      SLIPWAY_CORE_ADDRESS: coreAddress, SLIPWAY_AGENT_KEY: agentKey, SLIPWAY_AGENT_DATA_DIR: dataDir, SLIPWAY_CPU_SLOTS: '16', ...options.agentEnv, ...env,
    }), { logger });
    await agent.start();
    stops.push(async () => { await agent.stop(); await rm(dataDir, { recursive: true, force: true }); });
    return agent;
  };
  for (let i = 0; i < (options.agents ?? 1); i += 1) await startAgent(cores[i % cores.length]!.address);

  /** Calls the public API. `body` objects are sent as JSON, texts and buffers as they are. */
  const request = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as string }),
    });
    const text = await response.text();
    let json: unknown;
    try { json = JSON.parse(text); } catch { json = undefined; }
    return { status: response.status, headers: response.headers, text, json: json as PublicJson };
  };

  /** Creates a template and an endpoint and waits until its workers are ready. */
  const createEndpoint = async (given: EndpointOptions): Promise<string> => {
    const owner = given.key ?? key;
    const name = `test-${randomBytes(6).toString('hex')}`;
    const template = Template.fromPartial({ name, imageName: 'process', startCommand: given.command, env: given.env ?? {}, serverless: true });
    const { template: made } = await call(clients.templates, 'createTemplate', { template }, owner);
    const endpoint = Endpoint.fromPartial({ name, templateId: made!.id, workersMin: 1, idleTimeoutSeconds: 60, ...given.fields });
    const { endpoint: created } = await call(clients.endpoints, 'createEndpoint', {
      endpoint, requestId: '', workersMax: given.workersMax ?? Math.max(3, endpoint.workersMin), retryLimit: given.retryLimit,
    }, owner);
    const wanted = given.ready ?? endpoint.workersMin;
    await waitFor(`${wanted} ready workers of ${given.command.at(-1)}`, async () => {
      const { workers } = await call(clients.jobs, 'getHealth', { endpointId: created!.id }, owner);
      return workers!.ready + workers!.running >= wanted;
    }, 60_000);
    return created!.id;
  };

  return { url, key, agentKey, rootKey, accountId, cores, clients, database, facade, newKey, startCore, startAgent, request, createEndpoint };
}
