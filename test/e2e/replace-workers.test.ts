// test: postgres, 90 s
/**
 * A change of what workers run replaces them gently, on real parts: the idle worker goes first, the busy one finishes
 * its job before it goes, and new workers run the new version. One row for each kind of change, and one for a restart,
 * which changes nothing else.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const LOCATION = 'EU-CZ-1';
const system = await startSystem(t, {
  agentEnv: { SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x8,NVIDIA A40:46068x8', SLIPWAY_AGENT_LOCATIONS: LOCATION },
});
const { clients, key } = system;
const command = jsHandler('all.js');
const NAMES = ['GREETING', 'RUNPOD_GPU_TYPE_ID', 'RUNPOD_VOLUME_PATH'] as const;
type Seen = Record<(typeof NAMES)[number], string | null>;

const updateEndpoint = (id: string, fields: Partial<Endpoint>, updateMask: string[]) =>
  call(clients.endpoints, 'updateEndpoint', { endpoint: Endpoint.fromPartial({ ...fields, id }), updateMask }, key);
const createVolume = async (): Promise<string> =>
  (
    await call(
      clients.volumes,
      'createNetworkVolume',
      {
        networkVolume: NetworkVolume.fromPartial({ name: 'v', sizeGb: 1, dataCenterId: LOCATION }),
      },
      key,
    )
  ).networkVolume!.id;
const updateTemplate = async (endpointId: string, fields: Partial<Template>, updateMask: string[]) => {
  const { endpoint } = await call(clients.endpoints, 'getEndpoint', { id: endpointId }, key);
  await call(
    clients.templates,
    'updateTemplate',
    { template: Template.fromPartial({ ...fields, id: endpoint!.templateId }), updateMask },
    key,
  );
};

/** Changes in their order, each with what a worker of the new version sees of it and of those before. */
const CHANGES: [what: string, change: (endpointId: string) => Promise<unknown>, seen: Partial<Seen>][] = [
  ["the template's env", (id) => updateTemplate(id, { env: { GREETING: 'new' } }, ['env']), { GREETING: 'new' }],
  [
    "the template's directory",
    (id) => updateTemplate(id, { workingDirectory: '/' }, ['working_directory']),
    { GREETING: 'new' },
  ],
  [
    'the template',
    async (id) => {
      const template = Template.fromPartial({
        name: 'another',
        startCommand: command,
        env: { GREETING: 'another' },
        serverless: true,
      });
      const { template: made } = await call(clients.templates, 'createTemplate', { template }, key);
      return updateEndpoint(id, { templateId: made!.id }, ['template_id']);
    },
    { GREETING: 'another', RUNPOD_GPU_TYPE_ID: 'NVIDIA L4' },
  ],
  [
    'the GPU choice',
    (id) => updateEndpoint(id, { gpuIds: ['NVIDIA A40'] }, ['gpu_ids']),
    { GREETING: 'another', RUNPOD_GPU_TYPE_ID: 'NVIDIA A40' },
  ],
  ['nothing but a restart', (id) => call(clients.endpoints, 'restartEndpoint', { id }, key), { GREETING: 'another' }],
  [
    "the endpoint's env",
    (id) => updateEndpoint(id, { env: { GREETING: 'its own' } }, ['env']),
    { GREETING: 'its own' },
  ],
  [
    'the volumes',
    async (id) => updateEndpoint(id, { networkVolumeIds: [await createVolume()] }, ['network_volume_ids']),
    { GREETING: 'its own' },
  ],
];

// One endpoint for all: the new workers of a change are the former ones of the next.
const endpointId = await system.createEndpoint({
  command,
  fields: { workersMin: 2, gpuIds: ['NVIDIA L4'] },
  env: { GREETING: 'old' },
});
const jobs = endpointJobs(system, endpointId);
const workers = async (): Promise<Worker[]> =>
  (await call(clients.machines, 'listWorkers', { endpointId }, key)).workers;

for (const [what, change, seen] of CHANGES) {
  t.test(what, async (t) => {
    const gate = join(t.testdir({}), 'open');
    const jobId = await jobs.run({ mode: 'until', file: gate });
    await jobs.reached(jobId, 'IN_PROGRESS');
    const before = await waitFor('one busy worker and one idle', async () => {
      const all = await workers();
      return all.length === 2 && all.filter((worker) => worker.held === 1).length === 1 ? all : undefined;
    });
    const busy = before.find((worker) => worker.held === 1)!;
    const idle = before.find((worker) => worker.held === 0)!;

    await change(endpointId);
    const { endpoint } = await call(clients.endpoints, 'getEndpoint', { id: endpointId }, key);
    t.equal(endpoint!.version, busy.version + 1, 'the version rises');
    const between = await waitFor(
      'two new ones to come, the idle worker to go and the busy one to be told to',
      async () => {
        const all = await workers();
        if (all.find(({ id }) => id === busy.id)?.state !== WorkerState.OUTDATED) return undefined;
        const fresh = all.filter(
          (worker) => worker.version === endpoint!.version && worker.state === WorkerState.READY,
        );
        return !all.some(({ id }) => id === idle.id) && fresh.length === 2 ? all : undefined;
      },
    );
    t.match(
      between.find(({ id }) => id === busy.id),
      { state: WorkerState.OUTDATED, held: 1, version: busy.version },
      'the busy one goes on, and says so',
    );
    t.equal((await jobs.status(jobId)).json.status, 'IN_PROGRESS');

    const record = await jobs.reached(await jobs.run({ mode: 'env', names: NAMES }), 'COMPLETED');
    t.match(record.output, seen, 'a new worker takes the next job');
    t.ok(between.some((worker) => worker.id === record.workerId && worker.version === endpoint!.version));
    if (what === 'the volumes')
      t.equal((record.output as Seen).RUNPOD_VOLUME_PATH?.split('/').at(-1), endpoint!.networkVolumeIds[0]);

    writeFileSync(gate, '');
    t.match(
      await jobs.reached(jobId, 'COMPLETED'),
      { output: { done: true }, workerId: busy.id, retries: undefined },
      'the busy one finishes its job',
    );
    await waitFor('it to go', async () => !(await workers()).some(({ id }) => id === busy.id));
    t.equal((await workers()).length, 2);
  });
}

t.test('a volume outlives workers, and all workers with it see the same files', async (t) => {
  await updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 }, ['workers_min', 'workers_max']);
  const networkVolumeIds = [await createVolume()];
  const first = endpointJobs(system, await system.createEndpoint({ command, fields: { networkVolumeIds } }));
  t.same((await first.reached(await first.run({ mode: 'files', write: { note: 'kept' } }), 'COMPLETED')).output, {
    note: 'kept',
  });
  const second = endpointJobs(system, await system.createEndpoint({ command, fields: { networkVolumeIds } }));
  const output = { note: 'kept', more: 'too' };
  t.same(
    (await second.reached(await second.run({ mode: 'files', write: { more: 'too' } }), 'COMPLETED')).output,
    output,
  );
  t.same((await first.reached(await first.run({ mode: 'files' }), 'COMPLETED')).output, output);
});
