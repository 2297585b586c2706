/** How inputs and answers of GraphQL are translated, where a whole system would be a long way round. */

import { presentDataCenter, stockIn } from '@slipway/facades/graphql/catalog/present-catalog';
import { numberOf, timeTextOf } from '@slipway/facades/graphql/core-message';
import { endpointFields } from '@slipway/facades/graphql/endpoints/endpoint-fields';
import { listOf } from '@slipway/facades/graphql/list-text';
import { newPod } from '@slipway/facades/graphql/pods/pod-fields';
import { presentPod } from '@slipway/facades/graphql/pods/present-pod';
import { availabilityWord } from '@slipway/facades/resources/availability-word';
import { lowestVersion, versionsFrom } from '@slipway/facades/resources/cuda-versions';
import { PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';

t.test('numbers and times of the wire', async (t) => {
  t.equal(numberOf(undefined), 0);
  t.equal(numberOf(5), 5);
  t.equal(numberOf({ low: 600_000, high: 0 }), 600_000);
  t.equal(numberOf({ low: -1, high: 0 }), 4_294_967_295);
  t.equal(numberOf({ low: -2, high: -1 }), -2);
  t.equal(numberOf({ low: 1, high: 1 }), 4_294_967_297);
  t.equal(timeTextOf(undefined), null);
  t.equal(timeTextOf({ seconds: { low: 1_795_289_212, high: 0 }, nanos: 511_999_999 }), '2026-11-21T19:26:52.511Z');
});

t.test('stock in words', async (t) => {
  t.equal(availabilityWord({ total: 3, free: 3, countMax: 3 }), 'High');
  t.equal(availabilityWord({ total: 3, free: 2, countMax: 3 }), 'High');
  t.equal(availabilityWord({ total: 3, free: 1, countMax: 3 }), 'Medium');
  t.equal(availabilityWord({ total: 4, free: 1, countMax: 4 }), 'Low');
  t.equal(availabilityWord({ total: 4, free: 0, countMax: 4 }), 'None');
  t.equal(availabilityWord({ total: 0, free: 0, countMax: 0 }), 'None');
  t.equal(availabilityWord({ total: 8, free: 8, countMax: 4 }, 5), 'None', 'no machine has that many');
  const centers = [{ id: 'A', gpus: [{ gpuTypeId: 'x', total: 4, free: 1 }] }];
  t.same(stockIn(centers, 'A', 'x', 4), { total: 4, free: 1, countMax: 4 });
  t.same(stockIn(centers, 'B', 'x', 4), { total: 0, free: 0, countMax: 4 });
  t.match(presentDataCenter({ id: 'A', gpus: [{ gpuTypeId: 'x', total: 1 }] }, new Map()), {
    location: '',
    gpuAvailability: [{ displayName: 'x', stockStatus: null, available: false }],
  });
});

t.test('lists, versions', async (t) => {
  t.same(listOf(' a, ,b,'), ['a', 'b']);
  t.same(versionsFrom('12.9'), ['13.0', '12.9']);
  t.same(versionsFrom('99.0'), ['99.0'], 'core says whether it is one');
  t.same(versionsFrom('latest'), ['latest']);
  t.equal(lowestVersion(['12.10', '12.9']), '12.9');
  t.equal(lowestVersion([]), null);
});

t.test('fields of an endpoint: only what the input names', async (t) => {
  t.same(endpointFields({ name: 'x', workersMin: 0, idleTimeout: null }), {
    changes: { name: 'x', workersMin: 0 },
    mask: ['name', 'workers_min'],
  });
  t.same(endpointFields({ networkVolumeId: '', locations: null, gpuIds: '' }).changes, {
    gpuIds: [],
    locations: [],
    networkVolumeIds: [],
  });
  t.same(endpointFields({ gpuIds: null, allowedCudaVersions: null, name: null }).mask, [], 'null is not given');
  t.same(endpointFields({ networkVolumeId: 'a', networkVolumeIds: [{ networkVolumeId: 'b' }] }).changes, {
    networkVolumeIds: ['b'],
  });
  t.same(endpointFields({ networkVolumeIds: [] }).mask, ['network_volume_ids']);
  t.same(
    endpointFields({ executionTimeoutMs: 0, flashBootType: 'PRIORITY_FLASHBOOT' }).changes,
    {
      executionTimeoutUnset: true,
      flashBootType: 'FLASH_BOOT_TYPE_FLASHBOOT',
      priorityFlashBoot: true,
    },
    'as they were sent',
  );
  t.same(endpointFields({ executionTimeoutMs: 9_000 }).changes, {
    executionTimeoutMs: 9_000,
    executionTimeoutUnset: false,
  });
  t.same(endpointFields({ id: 'e', gpuCount: 0 }).changes, { gpuCount: 0 }, 'whether an endpoint has GPUs is fixed');
  t.same(
    endpointFields({ gpuIds: '', gpuCount: 0 }),
    { changes: { gpuIds: [], computeType: 'CPU' }, mask: ['gpu_ids', 'compute_type'] },
    'no GPU is CPU',
  );
  t.same(endpointFields({ name: 'x-fb' }).mask, ['name', 'flash_boot_type']);
  t.same(endpointFields({ name: 'x', type: 'LB', instanceIds: ['cpu3c-2-4'] }).mask, [
    'name',
    'instance_ids',
    'type',
    'compute_type',
  ]);
});

t.test('pods', async (t) => {
  t.match(newPod({ gpuTypeId: 'NVIDIA L4', countryCode: 'US', dataCenterId: 'D', dockerArgs: '', env: [] }, 'GPU'), {
    gpuIds: ['NVIDIA L4'],
    locations: ['D'],
    startCommand: [],
    computeType: 'GPU',
  });
  t.same(newPod({ dataCenterId: 'US-CA-2, US-GA-1' }, 'GPU').locations, ['US-CA-2', 'US-GA-1'], 'any of them');
  t.same(newPod({ countryCode: 'US' }, 'GPU').locations, ['US']);
  t.same(newPod({ dataCenterId: '' }, 'GPU').locations, []);
  t.match(newPod({ templateId: 'runpod-ubuntu', minCudaVersion: '13.0' }, 'CPU'), {
    templateId: '',
    allowedCudaVersions: ['13.0'],
    gpuCount: 0,
  });
  const running = {
    desiredStatus: PodStatus.RUNNING,
    state: PodState.RUNNING,
    env: { B: '2', A: '1' },
    lastStartTime: { seconds: 100 },
  };
  t.match(presentPod(running, 160_500), {
    uptimeSeconds: 60,
    env: ['A=1', 'B=2'],
    runtime: { uptimeInSeconds: 60, ports: [] },
    machine: null,
  });
  t.match(
    presentPod({ ...running, endpointId: 'e' }, 0),
    { env: [], uptimeSeconds: 0 },
    'a worker keeps its environment to itself',
  );
  const stopped = { ...running, desiredStatus: PodStatus.EXITED, state: PodState.EXITED };
  t.match(presentPod(stopped, 160_500), { uptimeSeconds: 0, runtime: null, desiredStatus: 'EXITED' });
});
