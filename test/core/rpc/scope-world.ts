/**
 * The core, the keys and the fixtures with which scope-matrix.test.ts calls every rpc. They end with the file that
 * imports this one.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { MachineModels, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { Machine } from '@slipway/proto/gen/slipway/v1/machine';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { allRpcs, anyRpc } from '../../helpers/grpc/any-rpc.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

export const core = await startReplicas(t, 1, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' });
export const { clients, key } = core;
export const rpcs = await allRpcs();
export const any = anyRpc(core.replicas[0]!.address);
t.teardown(() => any.close());

// Jobs whose input says so are held, all others fail at once: only failed ones can be retried.
export const agent = await core.joinAgent({
  models: MachineModels.fromPartial({ limitBytes: 1 }),
  cpuSlots: 10_000,
  capacity: 1_000,
  onLogRequest: () => Buffer.from('log'),
  onAssignment: ({ input }) =>
    input?.toString() === '{"hold":true}' ? undefined : { kind: OutcomeKind.FAILED, error: 'as asked' },
});
export const templateId = await core.createTemplate();
export const servedName = 'served-model';
export const served = await core.createEndpoint({ templateId, modelAliases: [servedName], modelReferences: ['org/m'] });
export const elsewhere = await core.createEndpoint({ templateId, workersMin: 0, workersMax: 0 });
await core.ready(served);
export const workerId = agent.desired[0]!.workerId;
await core.submit(served, { hold: true });
export const held = await waitFor('an attempt that goes on', () => agent.assignments[0]?.ref);
export const balanced = await core.createEndpoint({ templateId, type: EndpointType.LB, workersMin: 0, workersMax: 0 });
export const strangerId = await core.newAccount();

/** Returns a restricted key. */
export const restricted = async (management: Permission, jobs: Permission): Promise<string> =>
  (
    await call(
      clients.keys,
      'createKey',
      {
        name: 'test',
        scope: KeyScope.RESTRICTED,
        endpointIds: [],
        accountId: '',
        permissions: { management, jobs },
      },
      key,
    )
  ).secret;
export const revoked = await core.createKey(KeyScope.ALL);
await call(clients.keys, 'revokeKey', { id: revoked.key!.id }, key);
export const { UNSPECIFIED: NONE, READ, READ_WRITE } = Permission;

/** Keys that nothing is open to. */
export const USELESS: Record<string, string> = {
  'no key': '',
  'an unknown key': 'rpa_unknown',
  'a revoked key': revoked.secret,
};

/** The others, in the order of the columns below; some are about the endpoint that a call names. */
export const KEYS: [name: string, key: string | ((endpointId: string) => Promise<string>)][] = [
  ['ALL', key],
  ['READ_ONLY', await core.newKey(KeyScope.READ_ONLY)],
  ['RESTRICTED to nothing', await restricted(NONE, NONE)],
  ['RESTRICTED to reading management', await restricted(READ, NONE)],
  ['RESTRICTED to management', await restricted(READ_WRITE, NONE)],
  ['RESTRICTED to jobs', await restricted(NONE, READ_WRITE)],
  ['ALL for this endpoint', (endpointId) => core.newKey(KeyScope.ALL, [endpointId || served])],
  ['ALL for another endpoint', await core.newKey(KeyScope.ALL, [elsewhere])],
  ['AGENT', await core.keyOf(agent.machineId)],
  ['root', core.rootKey],
  ["another account's", await core.newKey(KeyScope.ALL, [], strangerId)],
];

export const OK = 'OK';
/** UNAUTHENTICATED. */
export const NO = 'NO';
/** NOT_FOUND. */
export const GONE = 'GONE';

/** Result of each kind of call for each of the keys. */
export const RULES = {
  //                     ALL READ no  mR  mRW jRW one  other agent root stranger
  'jobs: read': [OK, OK, NO, NO, NO, OK, OK, NO, NO, OK, GONE],
  'jobs of all: read': [OK, OK, NO, NO, NO, OK, OK, OK, NO, OK, OK],
  'jobs: change': [OK, NO, NO, NO, NO, OK, OK, NO, NO, OK, GONE],
  // A key for other endpoints does not see the model, and the operator's key belongs to no account.
  'model: read': [OK, OK, NO, NO, NO, OK, OK, GONE, NO, NO, GONE],
  'models: read': [OK, OK, NO, NO, NO, OK, OK, OK, NO, NO, OK],
  // A key for some endpoints makes files and batches, and sees only its own.
  'files: make': [OK, NO, NO, NO, NO, OK, OK, OK, NO, NO, OK],
  'file: read': [OK, OK, NO, NO, NO, OK, GONE, GONE, NO, NO, GONE],
  'file: change': [OK, NO, NO, NO, NO, OK, GONE, GONE, NO, NO, GONE],
  'draft: read': [OK, OK, NO, NO, NO, OK, GONE, NO, NO, OK, GONE],
  'draft: change': [OK, NO, NO, NO, NO, OK, GONE, NO, NO, OK, GONE],
  'endpoint: read': [OK, OK, NO, OK, OK, NO, OK, NO, NO, OK, GONE],
  'endpoint: change': [OK, NO, NO, NO, OK, NO, OK, NO, NO, OK, GONE],
  // A key for some endpoints reads the template that they use. What is not theirs does not exist for it, and it changes
  // nothing of the account.
  'thing: read': [OK, OK, NO, OK, OK, NO, OK, OK, NO, NO, GONE],
  'outside: read': [OK, OK, NO, OK, OK, NO, GONE, GONE, NO, NO, GONE],
  'thing: change': [OK, NO, NO, NO, OK, NO, NO, NO, NO, NO, GONE],
  'account: read': [OK, OK, NO, OK, OK, NO, OK, OK, NO, NO, OK],
  'account: change': [OK, NO, NO, NO, OK, NO, NO, NO, NO, NO, OK],
  // A key for some endpoints has no alerts: they are of the whole account.
  'alerts: read': [OK, OK, NO, OK, OK, NO, NO, NO, NO, OK, OK],
  'alerts: make': [OK, NO, NO, NO, OK, NO, NO, NO, NO, OK, OK],
  'alerts: change': [OK, NO, NO, NO, OK, NO, NO, NO, NO, GONE, GONE],
  'everybody: read': [OK, OK, NO, OK, OK, NO, OK, OK, NO, OK, OK],
  public: [OK, OK, NO, OK, OK, NO, OK, OK, NO, OK, OK],
  owner: [OK, NO, NO, NO, NO, NO, NO, NO, NO, NO, OK],
  'owner or operator': [OK, NO, NO, NO, NO, NO, NO, NO, NO, OK, OK],
  'keys: read': [OK, OK, NO, OK, OK, NO, OK, OK, NO, OK, NO],
  'keys: make': [OK, NO, NO, NO, NO, NO, NO, NO, NO, OK, NO],
  'keys: revoke': [OK, NO, NO, NO, NO, NO, NO, NO, NO, OK, GONE],
  operator: [NO, NO, NO, NO, NO, NO, NO, NO, NO, OK, NO],
  agents: [NO, NO, NO, NO, NO, NO, NO, NO, OK, NO, NO],
  anybody: [OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK],
  'no key': [NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO],
} satisfies Record<string, string[]>;

/**
 * A call: its request, and the endpoint it is about if it is about one. `callKey` is the key of calls that carry it
 * themselves.
 */
export interface Asked {
  request: object;
  endpointId?: string;
}
export type Ask = (callKey: string) => Asked | Promise<Asked>;

export const name = (): string => `t-${randomBytes(6).toString('hex')}`;
export const plain =
  (request: object = {}): Ask =>
  () => ({ request });
export const about = (endpointId: string, request: object): Asked => ({ request, endpointId });

// Things of the account, made anew for every call that changes or removes one.
/** A request of the agent about a version that its first worker runs. */
export const ofWorker =
  (fields: object): Ask =>
  () => ({ request: { endpointId: served, version: agent.desired[0]!.spec!.version, ...fields } });
export const newEndpoint = () => core.createEndpoint({ templateId, workersMin: 0, workersMax: 0 });
export const newVolume = () => core.createVolume('EU-1');
export const newAuth = async (): Promise<string> => {
  const { registryAuth } = await call(
    clients.registryAuths,
    'createRegistryAuth',
    { name: name(), username: 'u', password: 'p' },
    key,
  );
  return registryAuth!.id;
};
export const newSecret = async (): Promise<string> =>
  (await call(clients.secrets, 'createSecret', { name: name(), value: 'v', description: '' }, key)).secret!.id;
export const POD = Pod.fromPartial({ startCommand: ['true'], computeType: 'CPU' });
export const newPod = async () => (await call(clients.pods, 'createPod', { pod: POD }, key)).pod!.id;
export const newWebPod = async () =>
  (await call(clients.pods, 'createPod', { pod: Pod.fromPartial({ ...POD, ports: ['8888/http'] }) }, key)).pod!.id;
export const onNew =
  (make: () => Promise<string>, request: (id: string) => object = (id) => ({ id })): Ask =>
  async () => ({ request: request(await make()) });
export const failedJob = async (): Promise<string> => {
  const { id } = await core.submit(served);
  await core.wait(served, id);
  return id;
};
export const hook = createServer((_request, response) => response.end());
await new Promise<void>((resolve) => {
  hook.listen(0, '127.0.0.1', resolve);
});
t.teardown(() => hook.close());
export let announced: Promise<string> | undefined;
/** Returns a failed job whose webhook was called: one for all, which may be called again many times. */
export const announcedJob = (): Promise<string> => (announced ??= announceJob());
export const announceJob = async (): Promise<string> => {
  const webhook = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const { id } = (await call(clients.jobs, 'submitJob', { ...submission(served), webhook }, key)).job!;
  await waitFor('the call of its webhook', async () => {
    const { deliveries } = await call(clients.jobs, 'listWebhookDeliveries', { endpointId: served, jobId: id }, key);
    return deliveries[0]?.endTime;
  });
  return id;
};
export const onJob =
  (more: object = {}): Ask =>
  async () =>
    about(served, { endpointId: served, jobId: await failedJob(), ...more });
export const submission = (endpointId: string): SubmitJobRequest =>
  SubmitJobRequest.fromPartial({ endpointId, kind: SubmitKind.ASYNC, input: Buffer.from('{}') });
export const onPipeline =
  (pipelined: (jobId: string) => object): Ask =>
  async (apiKey) =>
    about(served, { calls: [{ callId: 1, apiKey, call: pipelined(await failedJob()) }] });
export const newMachine = async (): Promise<string> => {
  const id = randomBytes(6).toString('hex');
  await core.sql`INSERT INTO machine (id, name, lease_expires_at) VALUES (${id}, 'left', now() - interval '1 s')`;
  return id;
};
export const machine = () => Machine.fromPartial({ id: agent.machineId, name: 'm' });

/** Makes a suspended worker, which may be suspended again and resumed. */
export async function suspendedWorker(): Promise<string> {
  const id = `suspended${Math.trunc(performance.now())}`;
  await core.sql`INSERT INTO worker (id, endpoint_id, machine_id, version, desired, state, suspended)
    VALUES (${id}, ${await newEndpoint()}, ${agent.machineId}, 0, 'FREEZE', 'FROZEN', true)`;
  return id;
}
