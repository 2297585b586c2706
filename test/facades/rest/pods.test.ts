/**
 * Pods of the REST surface as contract fields, back, and through filters (docs/reference/management.md#lists,
 * docs/reference/management.md#pods).
 */

import { presentPod } from '@slipway/facades/resources/pods/present-pod';
import { newPodFields, podFields } from '@slipway/facades/rest/pods/pod-fields';
import { fits } from '@slipway/facades/rest/pods/pod-query';
import { Pod, PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';

const machine = {
  id: 'm',
  name: 'host',
  gpus: [{ uuid: 'g', name: 'NVIDIA L4', memoryMib: 24_000, migProfile: '' }],
  locations: ['RO', 'EU-RO-1'],
  memoryMib: 65_000,
  cpuCount: 8,
};

t.test('a change names only what was given', async (t) => {
  t.same(podFields({}), { changes: {}, mask: [] });
  t.same(podFields({ locked: false, dockerEntrypoint: [], containerRegistryAuthId: '' }), {
    changes: { entrypoint: [], registryAuthId: '', locked: false },
    mask: ['entrypoint', 'registry_auth_id', 'locked'],
  });
  t.same(
    podFields({ name: 'n', gpuCount: 2, templateId: 't' }),
    { changes: { name: 'n' }, mask: ['name'] },
    'what only a new one takes is no fault',
  );
});

t.test('a new pod', async (t) => {
  t.same(
    newPodFields({ imageName: 'x' }).ports,
    ['8888/http', '22/tcp'],
    'the ports of docs/reference/management.md#pods',
  );
  t.same(newPodFields({ imageName: 'x', ports: [] }).ports, []);
  t.notOk('ports' in newPodFields({ templateId: 't' }), 'a template has ports of its own');
  t.same(newPodFields({ templateId: 't', ports: ['80/http'] }).ports, ['80/http']);
  t.same(newPodFields({ countryCodes: ['RO'] }).locations, ['RO']);
  t.same(
    newPodFields({ countryCodes: ['RO'], dataCenterIds: ['EU-RO-1'] }).locations,
    ['EU-RO-1'],
    'the more exact place',
  );
  t.match(
    newPodFields({
      gpuTypeIds: ['NVIDIA L4'],
      gpuCount: 2,
      computeType: 'GPU',
      networkVolumeId: 'v',
      interruptible: true,
      cloudType: 'SECURE',
    }),
    {
      gpuIds: ['NVIDIA L4'],
      gpuCount: 2,
      computeType: 'GPU',
      networkVolumeId: 'v',
      interruptible: true,
    },
  );
});

t.test('the public record', async (t) => {
  const stored = Pod.fromPartial({
    id: 'p',
    name: 'n',
    imageName: 'x',
    machine,
    gpuTypeId: 'NVIDIA L4',
    gpuCount: 2,
    costPerHour: 3,
    env: { A: '1' },
    desiredStatus: PodStatus.EXITED,
    statusText: 'stopped',
    lastStartTime: new Date(0),
    registryAuthId: 'r',
    templateId: 't',
  });
  const record = presentPod(stored, 'user_1');
  t.match(record, {
    id: 'p',
    image: 'x',
    machineId: 'm',
    desiredStatus: 'EXITED',
    lastStatusChange: 'stopped',
    lastStartedAt: '1970-01-01T00:00:00.000Z',
    env: { A: '1' },
    gpu: { id: 'NVIDIA L4', count: 2, securePrice: 1.5 },
    costPerHr: 3,
    memoryInGb: 63,
    vcpuCount: 8,
    endpointId: null,
    containerRegistryAuthId: 'r',
    templateId: 't',
    consumerUserId: 'user_1',
  });
  const running = { ...stored, statusText: '', state: PodState.RUNNING, stateChangeTime: new Date(0) };
  t.equal(presentPod(running, 'u').lastStatusChange, 'Running: 1970-01-01T00:00:00.000Z');
  t.notOk('machine' in record || 'slsVersion' in record);
  t.match(presentPod(stored, 'u', { prices: new Map([['NVIDIA L4', 1.25]]) }).machine, {
    location: 'RO',
    dataCenterId: 'EU-RO-1',
    note: 'host',
    gpuTypeId: 'NVIDIA L4',
    gpuAvailable: 1,
  });
  t.same(
    presentPod({ ...stored, endpointId: 'e', version: 3 }, 'u').env,
    {},
    'a worker keeps its environment to itself',
  );
  t.match(presentPod({ ...stored, endpointId: 'e', version: 3 }, 'u'), { endpointId: 'e', slsVersion: 3 });
  t.notOk('gpu' in presentPod({ ...stored, gpuTypeId: '' }, 'u'));
  t.throws(() => presentPod(undefined, 'u'), { message: /without a pod/ });
});

t.test('filters: every one must fit, of a list any one', async (t) => {
  const pod = Pod.fromPartial({
    id: 'p',
    name: 'n',
    imageName: 'x',
    machine,
    gpuTypeId: 'NVIDIA L4',
    computeType: 'GPU',
    networkVolumeId: 'v',
  });
  for (const query of [
    {},
    { name: 'n', id: 'p' },
    { gpuTypeId: ['a', 'NVIDIA L4'] },
    { dataCenterId: ['EU-RO-1'] },
    { computeType: 'GPU' as const },
  ]) {
    t.ok(fits(pod, query), JSON.stringify(query));
  }
  for (const query of [
    { name: 'n', id: 'q' },
    { gpuTypeId: ['a'] },
    { cpuFlavorId: ['cpu3c'] },
    { name: '' },
    { desiredStatus: 'TERMINATED' as const },
  ]) {
    t.notOk(fits(pod, query), JSON.stringify(query));
  }
});
