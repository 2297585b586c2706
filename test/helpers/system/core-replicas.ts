/**
 * Starts one or more core replicas on their own database, with an account and its keys. The test scripts the agents.
 */
import { randomBytes } from 'node:crypto';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import type { Logger } from '@slipway/kit/log/logger';
import { createLogger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import { createDatabase } from '../db/database.ts';
import { call, grpcClients } from '../grpc/grpc-clients.ts';
import { ScriptedAgent } from '../grpc/scripted-agent.ts';
import type { ScriptedAgentOptions } from '../grpc/scripted-agent-options.ts';
import { PATIENCE_MS, waitFor } from '../time/wait-for.ts';

export type CoreReplicas = Awaited<ReturnType<typeof startReplicas>>;

let machines = 0;

/** Starts `count` replicas and stops them when the test ends. Defaults: a new database, no log. */
export async function startReplicas(
  t: Test,
  count = 1,
  env: Record<string, string> = {},
  given: { url?: string; logger?: Logger; clock?: Clock } = {},
) {
  const url = given.url ?? (await createDatabase(t)).url;
  const rootKey = randomBytes(24).toString('hex');
  const config = readCoreConfig({
    SLIPWAY_DATABASE_URL: url,
    SLIPWAY_CORE_LISTEN: '127.0.0.1:0',
    SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true',
    ...env,
  });
  const logger = given.logger ?? createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');
  const sql = postgres(url, { max: 2, onnotice: () => undefined });
  const agents: ScriptedAgent[] = [];
  const replicas: { address: string; secureAddress: string; metrics: string; stop(): Promise<void> }[] = [];
  const startReplica = async () => {
    const core = buildCore(config, { logger, ...(given.clock && { clock: given.clock }) });
    const { address, secureAddress, metrics } = await core.start();
    const replica = { address, secureAddress, metrics, stop: () => core.stop() };
    replicas.push(replica);
    return replica;
  };
  t.teardown(async () => {
    for (const agent of agents) agent.drop();
    clients.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await sql.end({ timeout: 1 });
  });
  for (let i = 0; i < count; i += 1) await startReplica();
  const clients = grpcClients(replicas[0]!.address);
  const { accountId } = await call(clients.access, 'createAccount', { name: 'test' }, rootKey);
  const createKey = (scope: KeyScope, endpointIds: string[] = [], account = accountId) =>
    call(
      clients.keys,
      'createKey',
      { name: 'test', scope, endpointIds, accountId: scope === KeyScope.AGENT ? '' : account, permissions: undefined },
      rootKey,
    );
  const newKey = async (
    scope: KeyScope = KeyScope.ALL,
    endpointIds: string[] = [],
    account = accountId,
  ): Promise<string> => (await createKey(scope, endpointIds, account)).secret;
  const key = await newKey();
  /** A key that no machine uses until the test gives it to one. */
  const agentKey = await newKey(KeyScope.AGENT);
  const machineKeys = new Map<string, Promise<string>>();
  /** Returns the key of a machine that joined with `joinAgent`. */
  const keyOf = (machineId: string): Promise<string> => {
    const known = machineKeys.get(machineId) ?? newKey(KeyScope.AGENT);
    machineKeys.set(machineId, known);
    return known;
  };

  /** Connects an agent with a new machine to a replica. */
  const joinAgent = async (
    options: Partial<ScriptedAgentOptions> = {},
    replica = replicas[0]!,
  ): Promise<ScriptedAgent> => {
    machines += 1;
    const machineId = options.machineId ?? `machine${String(machines).padStart(5, '0')}`;
    const agent = new ScriptedAgent({
      address: replica.address,
      agentKey: options.agentKey ?? (await keyOf(machineId)),
      ...options,
      machineId,
    });
    agents.push(agent);
    await agent.connect();
    return agent;
  };

  /** Returns another account, by its id. */
  const newAccount = async (name = 'stranger'): Promise<string> =>
    (await call(clients.access, 'createAccount', { name }, rootKey)).accountId;

  /** Returns a template of the account. */
  const createTemplate = async (fields: Partial<Template> = {}, owner = key): Promise<string> => {
    const template = Template.fromPartial({
      name: `t-${randomBytes(6).toString('hex')}`,
      startCommand: ['true'],
      serverless: true,
      ...fields,
    });
    return (await call(clients.templates, 'createTemplate', { template }, owner)).template!.id;
  };

  /** Returns a network volume of the account. */
  const createVolume = async (dataCenterId: string, owner = key): Promise<string> => {
    const networkVolume = NetworkVolume.fromPartial({ name: 'test', sizeGb: 1, dataCenterId });
    return (await call(clients.volumes, 'createNetworkVolume', { networkVolume }, owner)).networkVolume!.id;
  };

  /** Returns an endpoint of the account. */
  const createEndpoint = async (fields: Partial<Endpoint> = {}, owner = key): Promise<string> => {
    const templateId = fields.templateId ?? (await createTemplate({}, owner));
    const endpoint = Endpoint.fromPartial({
      name: 'test',
      idleTimeoutSeconds: 60,
      workersMin: 1,
      ...fields,
      templateId,
    });
    const request = { endpoint, requestId: '', workersMax: fields.workersMax ?? 3, retryLimit: fields.retryLimit };
    return (await call(clients.endpoints, 'createEndpoint', request, owner)).endpoint!.id;
  };

  /** Changes fields of an endpoint. */
  const updateEndpoint = (id: string, fields: Partial<Endpoint>) =>
    call(
      clients.endpoints,
      'updateEndpoint',
      {
        endpoint: Endpoint.fromPartial({ ...fields, id }),
        updateMask: Object.keys(fields).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
      },
      key,
    );

  const submit = async (endpointId: string, input: unknown = {}, lowPriority = false, owner = key): Promise<Job> =>
    (
      await call(
        clients.jobs,
        'submitJob',
        {
          endpointId,
          requestId: '',
          kind: SubmitKind.ASYNC,
          input: Buffer.from(JSON.stringify(input)),
          webhook: '',
          policy: { lowPriority, executionTimeoutMs: undefined, ttlMs: undefined },
          s3Config: undefined,
          waitMs: 0,
          idempotencyKey: '',
        },
        owner,
      )
    ).job!;

  /** Returns the job as soon as it is final, or as it is after `waitMs`. */
  const wait = async (endpointId: string, jobId: string, waitMs = PATIENCE_MS): Promise<Job> =>
    (await call(clients.jobs, 'waitJob', { endpointId, jobId, waitMs }, key)).job!;

  const get = async (endpointId: string, jobId: string): Promise<Job> =>
    (await call(clients.jobs, 'getJob', { endpointId, jobId, omitOutput: false, ttlMs: 0 }, key)).job!;

  /** Waits until `wanted` workers of an endpoint can take jobs. */
  const ready = (endpointId: string, wanted = 1) =>
    waitFor(`${wanted} ready workers`, async () => {
      const rows =
        await sql`SELECT FROM worker WHERE endpoint_id = ${endpointId} AND state = 'READY' AND desired = 'RUN'
          AND ended_at IS NULL`;
      return rows.length >= wanted;
    });

  return {
    url,
    sql,
    rootKey,
    accountId,
    key,
    agentKey,
    replicas,
    clients,
    newKey,
    createKey,
    newAccount,
    startReplica,
    joinAgent,
    keyOf,
    createTemplate,
    createVolume,
    createEndpoint,
    updateEndpoint,
    submit,
    wait,
    get,
    ready,
  };
}
