import type { PodEnvFacts } from '@slipway/gpu-agent/launch/pod-env';
import { buildPodEnv } from '@slipway/gpu-agent/launch/pod-env';
import t from 'tap';

const FACTS: PodEnvFacts = {
  podId: 'p1',
  machineName: 'box',
  locations: ['CZ', 'EU-1'],
  hostEnv: { PATH: '/bin', HOME: '/root' },
  userEnv: { A: '1', PATH: '/mine' },
  gpus: [{ uuid: 'GPU-1', name: 'NVIDIA L4', virtual: false }],
  gpuTypeId: 'NVIDIA L4',
  volumePath: '/vol/v1',
  cpuCount: 4,
};

t.test('a pod with a GPU', async (t) => {
  t.same(
    buildPodEnv(FACTS),
    {
      PATH: '/mine',
      HOME: '/root',
      PYTHONUNBUFFERED: '1',
      A: '1',
      RUNPOD_POD_ID: 'p1',
      RUNPOD_POD_HOSTNAME: 'p1-box',
      RUNPOD_CPU_COUNT: '4',
      RUNPOD_DC_ID: 'CZ',
      RUNPOD_GPU_COUNT: '1',
      RUNPOD_GPU_TYPE_ID: 'NVIDIA L4',
      CUDA_VISIBLE_DEVICES: 'GPU-1',
      NVIDIA_VISIBLE_DEVICES: 'GPU-1',
      RUNPOD_VOLUME_PATH: '/vol/v1',
    },
    'and nothing of workers',
  );
});

t.test('one without', async (t) => {
  const env = buildPodEnv({
    ...FACTS,
    gpus: [],
    gpuTypeId: '',
    volumePath: undefined,
    userEnv: { CUDA_VISIBLE_DEVICES: '0', RUNPOD_POD_ID: 'other' },
  });
  t.match(
    env,
    { CUDA_VISIBLE_DEVICES: '', NVIDIA_VISIBLE_DEVICES: 'void', RUNPOD_GPU_COUNT: '0', RUNPOD_POD_ID: 'p1' },
    'nobody can take what is not his',
  );
  t.notOk('RUNPOD_VOLUME_PATH' in env || 'RUNPOD_GPU_TYPE_ID' in env);
});
