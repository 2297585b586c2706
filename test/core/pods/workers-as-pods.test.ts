// test: postgres
/** Workers are listed as pods, and no call of PodService changes them. The machine is scripted. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { act, CPU, create, get, gpu, list, remove, update } from './pod-actions.ts';

t.setTimeout(600_000);

t.test('workers are shown as pods and cannot be changed', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent({ gpus: [gpu('GPU-1')], onLogRequest: () => Buffer.from('hello') });
  const templateId = await core.createTemplate({ env: { SECRET: 's' }, imageName: 'i' });
  const endpointId = await core.createEndpoint({
    gpuIds: ['NVIDIA L4'],
    templateId,
    env: { MORE: 's' },
    name: 'my endpoint',
  });
  const other = await core.createEndpoint({ workersMin: 1, computeType: 'CPU' });
  await core.ready(endpointId);
  await core.ready(other);
  const pod = await create(core, CPU);
  const id = agent.desired.find((worker) => worker.endpointId === endpointId)!.workerId;
  const shown = await get(core, id);
  t.match(shown, {
    id,
    name: 'my endpoint',
    endpointId,
    templateId,
    imageName: 'i',
    gpuUuids: ['GPU-1'],
    gpuTypeId: 'NVIDIA L4',
    gpuCount: 1,
    version: 0,
    desiredStatus: PodStatus.RUNNING,
    state: PodState.RUNNING,
    machine: { id: agent.machineId },
  });
  t.same(shown.env, {}, 'without secrets');
  t.same(
    (await list(core)).map((found) => found.id),
    [pod.id],
  );
  t.equal((await list(core, { includeWorkers: true })).length, 3);
  t.same(
    (await list(core, { endpointId })).map((found) => found.id),
    [id],
  );
  t.match(await reasonOf(list(core, { endpointId: 'nosuch' })), /^ENDPOINT_NOT_FOUND/);
  const limited = await core.newKey(KeyScope.ALL, [other]);
  t.same(
    (await list(core, { includeWorkers: true }, limited)).map((found) => found.endpointId),
    [other],
    'a key for some endpoints sees no pods',
  );
  t.match(await reasonOf(get(core, id, limited)), /^NOT_FOUND/);
  t.match(await reasonOf(list(core, { endpointId }, limited)), /^UNAUTHORIZED/);
  for (const refused of [
    () => act(core, 'stopPod', id),
    () => act(core, 'startPod', id),
    () => update(core, id, { name: 'x' }),
    () => remove(core, id),
  ]) {
    t.match(await reasonOf(refused()), new RegExp(`^POD_FIXED: ${id} is a worker of the endpoint ${endpointId}`));
  }
  t.equal(String((await call(core.clients.pods, 'getPodLog', { id, tailBytes: 0 }, core.key)).log), 'hello');
  agent.send({ workers: [{ workerId: id, endpointId, state: WorkerState.UNHEALTHY, reason: 'it fell' }] });
  await waitFor('its end', async () => (await get(core, id)).state === PodState.FAILED);
  t.match(await get(core, id), { statusText: 'it fell' });
});
