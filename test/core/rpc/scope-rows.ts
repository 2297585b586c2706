/** Every rpc, who may call it, and a request of it. */

import { Api, KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { GetJobRequest, ReadChunksRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { Ask } from './scope-world.ts';
import {
  about,
  agent,
  announcedJob,
  balanced,
  core,
  held,
  KEYS,
  machine,
  name,
  newAuth,
  newEndpoint,
  newMachine,
  newPod,
  newSecret,
  newVolume,
  newWebPod,
  ofWorker,
  onJob,
  onNew,
  onPipeline,
  POD,
  plain,
  type RULES,
  served,
  submission,
  suspendedWorker,
  templateId,
  workerId,
} from './scope-world.ts';

export const ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  ['AccessService/CreateAccount', 'operator', () => ({ request: { name: name() } })],
  ['AccessService/CheckAccess', 'jobs: read', () => about(served, { endpointId: served, api: Api.JOBS })],
  [
    'AccessService/CheckAccess',
    'endpoint: change',
    () => about(served, { endpointId: served, api: Api.MANAGEMENT, write: true }),
  ],
  ['AccessService/CheckAccess', 'everybody: read', plain({ api: Api.MANAGEMENT })],
  ['AccessService/GetAccount', 'account: read', plain()],
  ['AccessService/ListAccounts', 'operator', plain()],
  ['AccessService/SetQuota', 'operator', plain({ accountId: core.accountId, quota: { workers: 1_000 } })],
  ['AccessService/UpdateAccount', 'owner', plain({ publicKey: 'ssh' })],
  ['KeyService/CreateKey', 'keys: make', plain({ name: 'k', scope: KeyScope.ALL, accountId: core.accountId })],
  ['KeyService/ListKeys', 'keys: read', plain({ accountId: core.accountId })],
  ['KeyService/RevokeKey', 'keys: revoke', onNew(async () => (await core.createKey(KeyScope.ALL)).key!.id)],
  [
    'EndpointService/CreateEndpoint',
    'account: change',
    async (apiKey) => {
      const own = apiKey === KEYS.at(-1)![1] ? await core.createTemplate({}, apiKey) : templateId;
      return { request: { endpoint: Endpoint.fromPartial({ templateId: own }) } };
    },
  ],
  ['EndpointService/GetEndpoint', 'endpoint: read', () => about(served, { id: served })],
  ['EndpointService/ListEndpoints', 'account: read', plain()],
  ['EndpointService/Explain', 'jobs: read', () => about(served, { endpointId: served })],
  ['EndpointService/GetJobTimes', 'jobs: read', () => about(served, { endpointId: served })],
  ['EndpointService/GetExampleInput', 'jobs: read', () => about(served, { endpointId: served })],
  ['EndpointService/ListDecisions', 'endpoint: read', () => about(served, { endpointId: served })],
  ['EndpointService/ListReleases', 'endpoint: read', () => about(served, { endpointId: served })],
  ['EndpointService/WhatIf', 'endpoint: read', () => about(served, { endpoint: Endpoint.fromPartial({ id: served }) })],
  [
    'EndpointService/UpdateEndpoint',
    'endpoint: change',
    async () => {
      const id = await newEndpoint();
      return about(id, { endpoint: Endpoint.fromPartial({ id, name: 'n' }), updateMask: ['name'] });
    },
  ],
  [
    'EndpointService/RestartEndpoint',
    'endpoint: change',
    async () => {
      const id = await newEndpoint();
      return about(id, { id });
    },
  ],
  [
    'EndpointService/RollBackEndpoint',
    'endpoint: change',
    async () => {
      const id = await newEndpoint();
      await core.sql`INSERT INTO endpoint_version (endpoint_id, version, template_id, image_name, start_command,
        entrypoint,
      working_directory, container_disk_gb, ports, gpu_ids, gpu_count, instance_ids, locations, network_volume_ids,
      allowed_cuda_versions, worker_concurrency)
      VALUES (${id}, -1, '', '', '{}', '{}', '', 1, '{}', '{}', 0, '{}', '{}', '{}', '{}', 1)`;
      return about(id, { id });
    },
  ],
  [
    'EndpointService/DeleteEndpoint',
    'endpoint: change',
    async () => {
      const id = await newEndpoint();
      return about(id, { id });
    },
  ],

  [
    'TemplateService/CreateTemplate',
    'account: change',
    () => ({ request: { template: Template.fromPartial({ name: name(), startCommand: ['true'] }) } }),
  ],
  ['TemplateService/GetTemplate', 'thing: read', plain({ id: templateId })],
  ['TemplateService/ListTemplates', 'account: read', plain()],
  [
    'TemplateService/UpdateTemplate',
    'thing: change',
    onNew(core.createTemplate, (id) => ({
      template: Template.fromPartial({ id, readme: 'r' }),
      updateMask: ['readme'],
    })),
  ],
  ['TemplateService/DeleteTemplate', 'thing: change', onNew(core.createTemplate)],

  [
    'VolumeService/CreateNetworkVolume',
    'account: change',
    plain({ networkVolume: NetworkVolume.fromPartial({ name: 'v', sizeGb: 1, dataCenterId: 'EU-1' }) }),
  ],
  ['VolumeService/GetNetworkVolume', 'outside: read', onNew(newVolume)],
  ['VolumeService/ListNetworkVolumes', 'account: read', plain()],
  [
    'VolumeService/UpdateNetworkVolume',
    'thing: change',
    onNew(newVolume, (id) => ({ networkVolume: NetworkVolume.fromPartial({ id, name: 'n' }), updateMask: ['name'] })),
  ],
  ['VolumeService/DeleteNetworkVolume', 'thing: change', onNew(newVolume)],

  [
    'RegistryAuthService/CreateRegistryAuth',
    'account: change',
    () => ({ request: { name: name(), username: 'u', password: 'p' } }),
  ],
  ['RegistryAuthService/GetRegistryAuth', 'outside: read', onNew(newAuth)],
  ['RegistryAuthService/ListRegistryAuths', 'account: read', plain()],
  [
    'RegistryAuthService/UpdateRegistryAuth',
    'thing: change',
    onNew(newAuth, (id) => ({ id, username: 'u', password: 'q' })),
  ],
  ['RegistryAuthService/DeleteRegistryAuth', 'thing: change', onNew(newAuth)],

  ['SecretService/CreateSecret', 'account: change', () => ({ request: { name: name(), value: 'v' } })],
  ['SecretService/GetSecret', 'outside: read', onNew(newSecret)],
  ['SecretService/ListSecrets', 'account: read', plain()],
  ['SecretService/UpdateSecret', 'thing: change', onNew(newSecret, (id) => ({ id, value: 'w' }))],
  ['SecretService/DeleteSecret', 'thing: change', onNew(newSecret)],
  ['PodService/CreatePod', 'account: change', plain({ pod: POD })],
  ['PodService/GetPod', 'outside: read', onNew(newPod)],
  ['PodService/ListPods', 'account: read', plain()],
  ['PodService/ListPods', 'endpoint: read', () => about(served, { endpointId: served })],
  [
    'PodService/UpdatePod',
    'thing: change',
    onNew(newPod, (id) => ({ pod: Pod.fromPartial({ id, name: 'n' }), updateMask: ['name'] })),
  ],
  ['PodService/StartPod', 'thing: change', onNew(newPod)],
  ['PodService/StopPod', 'thing: change', onNew(newPod)],
  ['PodService/ResetPod', 'thing: change', onNew(newPod)],
  ['PodService/RestartPod', 'thing: change', onNew(newPod)],
  ['PodService/DeletePod', 'thing: change', onNew(newPod)],
  ['PodService/GetPodLog', 'outside: read', onNew(newPod)],

  ['UsageService/ListUsage', 'everybody: read', plain({ kind: 1, bucket: 2 })],
  ['UsageService/ListPrices', 'everybody: read', plain()],
  ['UsageService/SetPrices', 'operator', plain({ prices: [{ item: 'CPU', usdPerHour: 1 }] })],
  ['CatalogService/ListGpuTypes', 'public', plain()],
  ['CatalogService/ListGpuPools', 'public', plain()],
  ['CatalogService/ListDataCenters', 'public', plain()],
  ['AuditService/ListAuditEvents', 'owner or operator', plain()],
  ['ProblemService/ListProblems', 'everybody: read', plain()],
  ['ProblemService/ListProblems', 'endpoint: read', () => about(served, { endpointId: served })],
  ['MachineService/ListMachines', 'operator', plain()],
  ['MachineService/ListMachineModels', 'operator', plain()],
  ['MachineService/GetMachine', 'operator', () => ({ request: { id: agent.machineId } })],
  ['MachineService/ForgetMachine', 'operator', async () => ({ request: { id: await newMachine() } })],
  ['MachineService/DrainMachine', 'operator', async () => ({ request: { id: await newMachine(), reason: '' } })],
  ['MachineService/SuspendWorker', 'operator', async () => ({ request: { workerId: await suspendedWorker() } })],
  ['MachineService/ResumeWorker', 'operator', async () => ({ request: { workerId: await suspendedWorker() } })],
  ['MachineService/CordonMachine', 'operator', async () => ({ request: { id: await newMachine(), cordoned: true } })],
  ['MachineService/ListWorkers', 'operator', plain({ accountId: core.accountId })],
  ['MachineService/ListWorkers', 'endpoint: read', () => about(served, { endpointId: served })],
  ['MachineService/GetWorkerLog', 'endpoint: read', () => about(served, { workerId })],

  ['JobService/SubmitJob', 'jobs: change', () => about(served, submission(served))],
  ['JobService/GetJob', 'jobs: read', onJob()],
  ['JobService/GetJob', 'jobs: change', onJob({ ttlMs: 60_000 })],
  ['JobService/GetJobInput', 'jobs: read', onJob()],
  ['JobService/WaitJob', 'jobs: read', onJob()],
  ['JobService/ReadChunks', 'jobs: read', onJob()],
  ['JobService/CancelJob', 'jobs: change', onJob()],
  ['JobService/RetryJob', 'jobs: change', onJob()],
  [
    'JobService/CancelJobs',
    'jobs: change',
    () => about(served, { endpointId: served, submittedUntil: new Date(1_000) }),
  ],
  [
    'JobService/RetryJobs',
    'jobs: change',
    () => about(served, { endpointId: served, submittedUntil: new Date(1_000) }),
  ],
  ['JobService/PurgeQueue', 'jobs: change', () => about(served, { endpointId: served })],
  ['JobService/ListJobs', 'jobs: read', () => about(served, { endpointId: served, limit: 1 })],
  ['JobService/SearchJobs', 'jobs: read', () => about(served, { endpointIds: [served] })],
  ['JobService/SearchJobs', 'jobs of all: read', plain()],
  ['JobService/ListErrors', 'jobs: read', () => about(served, { endpointId: served })],
  ['JobService/Explain', 'jobs: read', onJob()],
  ['JobService/GetJobLog', 'endpoint: read', onJob()],
  ['JobService/ListWebhookDeliveries', 'jobs: read', onJob()],
  [
    'JobService/RedriveWebhook',
    'jobs: change',
    async () => about(served, { endpointId: served, jobId: await announcedJob() }),
  ],
  ['JobService/GetHealth', 'jobs: read', () => about(served, { endpointId: served })],
  ['JobService/Pipeline', 'jobs: change', onPipeline(() => ({ $case: 'submit', value: submission(served) }))],
  ['JobService/Pipeline', 'jobs: change', onPipeline(() => ({ $case: 'submitAndWait', value: submission(served) }))],
  [
    'JobService/Pipeline',
    'jobs: change',
    onPipeline((jobId) => ({ $case: 'cancel', value: { endpointId: served, jobId } })),
  ],
  [
    'JobService/Pipeline',
    'jobs: read',
    onPipeline((jobId) => ({ $case: 'get', value: GetJobRequest.fromPartial({ endpointId: served, jobId }) })),
  ],
  [
    'JobService/Pipeline',
    'jobs: read',
    onPipeline((jobId) => ({ $case: 'wait', value: { endpointId: served, jobId, waitMs: 1_000 } })),
  ],
  [
    'JobService/Pipeline',
    'jobs: read',
    onPipeline((jobId) => ({ $case: 'chunks', value: ReadChunksRequest.fromPartial({ endpointId: served, jobId }) })),
  ],

  [
    'EdgeService/WatchRotation',
    'jobs: read',
    (apiKey) =>
      about(balanced, {
        demands: [{ endpointId: balanced, apiKey, waiting: 0, workers: [] }],
      }),
  ],

  [
    'EdgeService/TellRefusals',
    'jobs: read',
    (apiKey) =>
      about(balanced, {
        endpoints: [{ endpointId: balanced, apiKey, refused: [{ limit: 1, operation: 12, most: 1, count: 1 }] }],
      }),
  ],
  ['EdgeService/AdmitTunnel', 'agents', plain({})],
  [
    'EdgeService/LocatePod',
    'outside: read',
    async () => ({ request: { podId: await newWebPod(), port: 8888, write: false, open: false } }),
  ],

  // Before a session of the machine that says it has no workers.
  [
    'AgentService/SettleImage',
    'agents',
    ofWorker({ imageName: 'i', digest: `sha256:${'a'.repeat(64)}`, podId: '', run: 0 }),
  ],
  ['AgentService/SettleModel', 'agents', ofWorker({ repository: 'org/m', revision: 'main' })],
  [
    'AgentService/Session',
    'agents',
    () => ({ request: { hello: { machine: machine(), workers: [], attempts: [held], pods: [], images: [] } } }),
  ],
  ['AgentService/FetchInput', 'agents', plain({ ref: held })],
  [
    'AgentService/ReportOutcome',
    'agents',
    () => ({
      request: {
        outcome: { ref: { ...held, attempt: 99 }, kind: OutcomeKind.FAILED, output: undefined, error: 'late' },
      },
    }),
  ],
];
