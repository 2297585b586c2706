/** GPUs of a node, from the devices of a DRA driver or from the labels of a device plugin, and who else has them. */

import { KNOWN_GPU_TYPES } from '@slipway/core/domain/machines/gpu-facts';
import type { ApiNode, ApiPod, ApiResourceSlice } from '@slipway/gpu-agent/executors/kubernetes/api-types';
import { countedBy, gpusOf, occupants, productName, quantity } from '@slipway/gpu-agent/executors/kubernetes/node-gpus';
import t from 'tap';

const node: ApiNode = {
  metadata: {
    name: 'n1',
    labels: { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3', 'nvidia.com/gpu.memory': '81559' },
  },
  status: { capacity: { 'nvidia.com/gpu': '2' } },
};
const slice = (generation: number, devices: ApiResourceSlice['spec']['devices'] = []): ApiResourceSlice => ({
  metadata: { name: `s${generation}` },
  spec: { driver: 'gpu.nvidia.com', nodeName: 'n1', pool: { name: 'n1', generation }, devices },
});
const device = (name: string, uuid: string, more: object = {}) => ({
  name,
  attributes: {
    uuid: { string: uuid },
    productName: { string: 'NVIDIA H100 80GB HBM3' },
    cudaDriverVersion: { version: '13.0.0' },
    ...more,
  },
  capacity: { memory: { value: '81559Mi' } },
});

t.test('labels name the cards as the driver does', async (t) => {
  for (const name of KNOWN_GPU_TYPES)
    if (name.startsWith('NVIDIA') || name.startsWith('Tesla')) t.equal(productName(name.replaceAll(' ', '-')), name);
});

t.test('counted cards', async (t) => {
  const { gpus, devices } = gpusOf(node, []);
  t.equal(devices, undefined);
  t.same(
    gpus.map(({ uuid }) => uuid),
    ['n1-gpu-0', 'n1-gpu-1'],
  );
  t.match(gpus[0], { name: 'NVIDIA H100 80GB HBM3', memoryMib: 81_559, migProfile: '', virtual: false });
  const labels = { 'nvidia.com/gpu.product': 'NVIDIA-A100-SXM4-40GB-MIG-1g.5gb' };
  t.match(gpusOf({ ...node, metadata: { name: 'n1', labels } }, []).gpus[0], { migProfile: '1g.5gb' });
  t.same(gpusOf({ metadata: { name: 'n1' } }, []).gpus, []);
  const pods: ApiPod[] = [
    { metadata: { name: 'train', namespace: 'ml' }, spec: { containers: [limits('1')] } },
    { metadata: { name: 'over', namespace: 'ml' }, spec: { containers: [limits('1')] }, status: { phase: 'Failed' } },
  ];
  t.same(
    [...occupants(gpusOf(node, []), { pods, claims: [], own: new Set(['n1-gpu-1']) })],
    [['n1-gpu-0', 'Pod ml/train']],
  );
});

t.test('MIG slices that the plugin counts by profile, beside whole cards', async (t) => {
  const labels = {
    'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3',
    'nvidia.com/gpu.memory': '81559',
    'nvidia.com/mig-1g.10gb.product': 'NVIDIA-H100-80GB-HBM3-MIG-1g.10gb',
    'nvidia.com/mig-1g.10gb.memory': '9856',
  };
  const capacity = {
    cpu: '8',
    'nvidia.com/gpu': '1',
    'nvidia.com/mig-1g.10gb': '2',
    'nvidia.com/mig-1g.10gb.me': '1',
    'nvidia.com/gpu-shared': '4',
  };
  const known = gpusOf({ metadata: { name: 'n1', labels }, status: { capacity } }, []);
  t.same(
    known.gpus.map(({ uuid, name, memoryMib, migProfile }) => [uuid, name, memoryMib, migProfile]),
    [
      ['n1-gpu-0', 'NVIDIA H100 80GB HBM3', 81_559, ''],
      ['n1-mig-1g.10gb-0', 'NVIDIA H100 80GB HBM3', 9_856, '1g.10gb'],
      ['n1-mig-1g.10gb-1', 'NVIDIA H100 80GB HBM3', 9_856, '1g.10gb'],
      ['n1-mig-1g.10gb.me-0', 'NVIDIA H100 80GB HBM3', 0, '1g.10gb+me'],
    ],
  );
  t.same(
    known.gpus.map(({ uuid }) => countedBy(uuid)),
    ['nvidia.com/gpu', 'nvidia.com/mig-1g.10gb', 'nvidia.com/mig-1g.10gb', 'nvidia.com/mig-1g.10gb.me'],
  );
  const slices = { name: 'c', resources: { limits: { 'nvidia.com/mig-1g.10gb': '1' } } };
  const pods: ApiPod[] = [{ metadata: { name: 'train', namespace: 'ml' }, spec: { containers: [slices] } }];
  t.same(
    [...occupants(known, { pods, claims: [], own: new Set(['n1-mig-1g.10gb-0']) })],
    [['n1-mig-1g.10gb-1', 'Pod ml/train']],
    'a slice that another has is one of its profile',
  );
});

t.test('devices of the driver, MIG slices included, of the newest generation', async (t) => {
  const known = gpusOf(node, [
    slice(1, [device('gpu-0', 'GPU-old')]),
    slice(2, [device('gpu-0', 'GPU-a'), device('gpu-1-mig', 'MIG-b', { profile: { string: '1g.10gb' } })]),
  ]);
  t.same(
    known.gpus.map(({ uuid, memoryMib, migProfile }) => [uuid, memoryMib, migProfile]),
    [
      ['GPU-a', 81_559, ''],
      ['MIG-b', 81_559, '1g.10gb'],
    ],
  );
  t.equal(known.cudaVersion, '13.0');
  t.match(known.devices?.get('MIG-b'), { deviceClass: 'mig.nvidia.com' });
  const claim = {
    metadata: { name: 'c', namespace: 'ml' },
    status: {
      allocation: { devices: { results: [{ driver: 'gpu.nvidia.com', pool: 'n1', device: 'gpu-0' }] } },
      reservedFor: [{ resource: 'pods', name: 'train' }],
    },
  };
  t.same([...occupants(known, { pods: [], claims: [claim], own: new Set() })], [['GPU-a', 'Pod ml/train']]);
});

t.test('quantities', async (t) => {
  for (const [text, value] of [
    ['64', 64],
    ['500m', 0.5],
    ['512Gi', 512 * 1024 ** 3],
    ['1e3', 1_000],
    ['nonsense', 0],
  ] as const)
    t.equal(quantity(text), value);
});

function limits(count: string) {
  return { name: 'c', resources: { limits: { 'nvidia.com/gpu': count } } };
}
