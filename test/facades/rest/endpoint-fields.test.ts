/** Endpoint settings of the REST surface as contract fields, and back (docs/reference/management.md#endpoints). */

import { presentEndpoint } from '@slipway/facades/resources/endpoints/present-endpoint';
import { endpointFields } from '@slipway/facades/rest/endpoints/endpoint-fields';
import { Endpoint, EndpointType, FlashBootType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';

t.test('only what was given is changed', async (t) => {
  t.same(endpointFields({}), { changes: {}, mask: [] });
  t.same(endpointFields({ workersMin: 0, idleTimeout: 7, flashboot: false, gpuTypeIds: [] }), {
    changes: { gpuIds: [], workersMin: 0, idleTimeoutSeconds: 7, flashBootType: FlashBootType.OFF },
    mask: ['gpu_ids', 'workers_min', 'idle_timeout_seconds', 'flash_boot_type'],
  });
});

t.test('every field has its place', async (t) => {
  const { changes } = endpointFields({
    name: 'n',
    templateId: 't',
    gpuTypeIds: ['NVIDIA L4', 'NVIDIA A40'],
    gpuCount: 2,
    workersMin: 1,
    workersMax: 5,
    idleTimeout: 9,
    scalerType: 'REQUEST_COUNT',
    scalerValue: 3,
    executionTimeoutMs: 6_000,
    flashboot: true,
    dataCenterIds: ['EU-RO-1'],
    networkVolumeId: 'v',
    env: { A: 'b' },
    allowedCudaVersions: ['12.8'],
    computeType: 'GPU',
    type: 'LB',
  });
  t.same(changes, {
    name: 'n',
    templateId: 't',
    gpuIds: ['NVIDIA L4', 'NVIDIA A40'],
    gpuCount: 2,
    workersMin: 1,
    workersMax: 5,
    idleTimeoutSeconds: 9,
    scalerType: ScalerType.REQUEST_COUNT,
    scalerValue: 3,
    executionTimeoutMs: 6_000,
    flashBootType: FlashBootType.FLASHBOOT,
    locations: ['EU-RO-1'],
    networkVolumeIds: ['v'],
    env: { A: 'b' },
    allowedCudaVersions: ['12.8'],
    computeType: 'GPU',
    type: EndpointType.LB,
  });
});

t.test('a minimum of CUDA is the list from there on', async (t) => {
  t.same(endpointFields({ minCudaVersion: '12.8' }).changes.allowedCudaVersions, ['13.0', '12.9', '12.8']);
  t.same(endpointFields({ minCudaVersion: '12.10' }).changes.allowedCudaVersions, ['13.0'], 'newer than 12.9');
  t.same(endpointFields({ minCudaVersion: '14.1' }).changes.allowedCudaVersions, ['14.1']);
  t.same(endpointFields({ minCudaVersion: '12.0', allowedCudaVersions: ['11.8'] }).changes.allowedCudaVersions, [
    '11.8',
  ]);
  t.same(endpointFields({ minCudaVersion: '12.9', allowedCudaVersions: [] }).changes.allowedCudaVersions, [
    '13.0',
    '12.9',
  ]);
  t.same(endpointFields({ allowedCudaVersions: [] }).changes.allowedCudaVersions, []);
  t.same(endpointFields({ minCudaVersion: '' }).changes.allowedCudaVersions, []);
});

t.test('an environment whose name would be lost on the way is refused', async (t) => {
  t.throws(
    () => endpointFields({ env: JSON.parse('{"A":"1","__proto__":"x"}') as Record<string, string> }),
    /env: "__proto__" is not a name/,
  );
});

t.test('volumes', async (t) => {
  t.same(endpointFields({ networkVolumeId: '' }).changes.networkVolumeIds, []);
  t.same(endpointFields({ networkVolumeId: 'a', networkVolumeIds: ['b', 'c'] }).changes.networkVolumeIds, ['b', 'c']);
  t.same(
    endpointFields({ networkVolumeId: 'a', networkVolumeIds: [] }).changes.networkVolumeIds,
    ['a'],
    'an empty list is no choice beside one',
  );
  t.same(endpointFields({ networkVolumeId: '', networkVolumeIds: [] }).changes.networkVolumeIds, []);
  t.same(endpointFields({ networkVolumeIds: [] }).changes.networkVolumeIds, []);
});

t.test('the public record', async (t) => {
  const stored = Endpoint.fromPartial({
    id: 'e',
    name: 'n',
    templateId: 't',
    type: EndpointType.QB,
    gpuIds: ['NVIDIA L4'],
    gpuCount: 1,
    workersMax: 3,
    idleTimeoutSeconds: 5,
    scalerType: ScalerType.QUEUE_DELAY,
    scalerValue: 4,
    executionTimeoutMs: 600_000,
    createTime: new Date(0),
    computeType: 'GPU',
    networkVolumeIds: ['v'],
    webhookSecret: 'whsec_x',
  });
  const record = presentEndpoint(stored, 'user_1');
  t.match(record, {
    id: 'e',
    userId: 'user_1',
    type: 'QB',
    computeType: 'GPU',
    gpuTypeIds: ['NVIDIA L4'],
    idleTimeout: 5,
    scalerType: 'QUEUE_DELAY',
    workersMin: 0,
    workersMax: 3,
    networkVolumeId: 'v',
    flashboot: false,
    createdAt: '1970-01-01T00:00:00.000Z',
  });
  t.notOk('minCudaVersion' in record);
  t.equal(
    presentEndpoint({ ...stored, allowedCudaVersions: ['12.9', '12.10'] }, 'user_1').minCudaVersion,
    '12.9',
    'a number for each part',
  );
  t.notMatch(JSON.stringify(record), 'whsec_', 'secrets are not shown');
});
