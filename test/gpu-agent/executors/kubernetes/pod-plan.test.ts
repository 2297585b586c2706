/** The objects of a workload: GPUs by claim or count, volumes, credentials, and what an operator passes through. */

import type { PodPlan } from '@slipway/gpu-agent/executors/kubernetes/pod-plan';
import {
  claimOf,
  envSecretOf,
  podOf,
  pullSecretOf,
  unfitVariable,
} from '@slipway/gpu-agent/executors/kubernetes/pod-plan';
import { parsePodTemplate } from '@slipway/gpu-agent/executors/kubernetes/pod-template';
import { parseImageName } from '@slipway/gpu-agent/images/image-name';
import t from 'tap';
import { launchOf } from '../../../helpers/engines/containers.ts';

const POD = { apiVersion: 'v1', kind: 'Pod', name: 'w1', uid: 'u1' };
const gpus = [
  { uuid: 'GPU-a', virtual: false },
  { uuid: 'V', virtual: true },
];
const plan = (more: Partial<PodPlan> = {}, launch: Parameters<typeof launchOf>[1] = {}): PodPlan => ({
  launch: launchOf('', { workloadId: 'w1', gpus, ...launch }),
  machineId: 'm1',
  node: 'n1',
  image: parseImageName('ollama/ollama')!,
  nonce: 'x',
  owner: undefined,
  template: {},
  graceSeconds: 6,
  devices: undefined,
  volumes: { folder: '/volumes', claim: '' },
  bridge: { host: '10.0.0.1', port: 9 },
  ...more,
});

t.test('counted GPUs are a limit; claimed ones are named by their UUID', async (t) => {
  t.match(podOf(plan()), { spec: { containers: [{ resources: { limits: { 'nvidia.com/gpu': '1' } } }] } });
  t.equal(claimOf(plan()), undefined);
  const slices = ['n1-mig-1g.10gb-0', 'n1-mig-1g.10gb-3'].map((uuid) => ({ uuid, virtual: false }));
  t.match(podOf(plan({}, { gpus: slices })), {
    spec: { containers: [{ resources: { limits: { 'nvidia.com/mig-1g.10gb': '2', 'nvidia.com/gpu': undefined } } }] },
  });
  const devices = [{ uuid: 'GPU-a', driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com' }];
  t.match(podOf(plan({ devices })), {
    spec: {
      resourceClaims: [{ name: 'gpus', resourceClaimName: 'w1-gpus' }],
      containers: [{ resources: { limits: {}, claims: [{ name: 'gpus' }] } }],
    },
  });
  const expression = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].uuid == "GPU-a"';
  t.match(claimOf(plan({ devices })), {
    metadata: { name: 'w1-gpus' },
    spec: {
      devices: { requests: [{ exactly: { deviceClassName: 'gpu.nvidia.com', selectors: [{ cel: { expression } }] } }] },
    },
  });
});

t.test('which GPUs a container sees is for the driver; without one it sees none', async (t) => {
  const visible = (NVIDIA_VISIBLE_DEVICES: string) => envSecretOf(plan({}, { env: { NVIDIA_VISIBLE_DEVICES } }), POD);
  t.match(visible('void'), { data: { NVIDIA_VISIBLE_DEVICES: Buffer.from('void').toString('base64') } });
  t.notMatch(visible('GPU-a'), { data: { NVIDIA_VISIBLE_DEVICES: String } });
  t.equal(unfitVariable(plan({}, { env: { 'A B': '' } }).launch), 'A B');
});

t.test('network volumes are folders of the node, or parts of one claim', async (t) => {
  const mounts = [
    { source: '/volumes/v1', target: '/runpod-volume' },
    { source: '/models/m', target: '/m', readOnly: true },
  ];
  t.match(podOf(plan({}, { mounts })), {
    spec: {
      volumes: [{ name: 'shm' }, { hostPath: { path: '/volumes/v1' } }, { hostPath: { path: '/models/m' } }],
      containers: [{ volumeMounts: [{ mountPath: '/dev/shm' }, { mountPath: '/runpod-volume' }, { readOnly: true }] }],
    },
  });
  t.match(podOf(plan({ volumes: { folder: '/volumes', claim: 'shared' } }, { mounts })), {
    spec: {
      volumes: [
        {},
        { name: 'volumes', persistentVolumeClaim: { claimName: 'shared' } },
        { hostPath: { path: '/models/m' } },
      ],
      containers: [{ volumeMounts: [{}, { name: 'volumes', subPath: 'v1' }, {}] }],
    },
  });
});

t.test('credentials of Docker Hub are under the name that every kubelet looks for', async (t) => {
  const image = {
    name: 'x',
    digest: '',
    credentials: { username: 'ada', password: 'p' },
    resolveDigest: async () => '',
  };
  const secret = pullSecretOf(plan({}, { image })) as { data: Record<string, string> };
  const config = JSON.parse(Buffer.from(secret.data['.dockerconfigjson']!, 'base64').toString()) as object;
  t.same(config, {
    auths: {
      'https://index.docker.io/v1/': { username: 'ada', password: 'p', auth: Buffer.from('ada:p').toString('base64') },
    },
  });
  t.match(podOf(plan({}, { image })), { spec: { imagePullSecrets: [{ name: 'w1-pull' }] } });
});

t.test('what an operator passes through', async (t) => {
  const template = parsePodTemplate(
    JSON.stringify({
      schedulerName: 'kai-scheduler',
      priorityClassName: 'low',
      runtimeClassName: 'nvidia',
      labels: { 'kueue.x-k8s.io/queue-name': 'gpus' },
      nodeSelector: { pool: 'gpu' },
      tolerations: [{ key: 'team', operator: 'Exists' }],
    }),
  );
  if (typeof template === 'string') return t.fail(template);
  t.match(podOf(plan({ template })), {
    metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'gpus', 'slipway.workload': 'w1' } },
    spec: {
      schedulerName: 'kai-scheduler',
      priorityClassName: 'low',
      runtimeClassName: 'nvidia',
      nodeSelector: { pool: 'gpu' },
      tolerations: [{ key: 'nvidia.com/gpu' }, {}, {}, { key: 'team' }],
    },
  });
  for (const [text, fault] of [
    ['{', /must be JSON/],
    ['[]', /must be a JSON object/],
    ['{"hostNetwork":true}', /has "hostNetwork", but may only have schedulerName/],
    ['{"labels":{"a":1}}', /has labels, which must be an object of texts/],
    ['{"labels":{"slipway.machine":"x"}}', /sets slipway\.machine, which the agent itself sets/],
    ['{"tolerations":{}}', /which must be a list of objects/],
  ] as const)
    t.match(parsePodTemplate(text), fault);
});
