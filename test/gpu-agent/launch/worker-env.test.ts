import type { WorkerEnvFacts } from '@slipway/gpu-agent/launch/worker-env';
import { buildWorkerEnv } from '@slipway/gpu-agent/launch/worker-env';
import t from 'tap';

const build = (over: Partial<WorkerEnvFacts> = {}): Record<string, string> =>
  buildWorkerEnv({
    workerId: 'worker00000001',
    endpointId: 'ep',
    token: 'tok',
    bridgeUrl: 'http://127.0.0.1:9000',
    machineName: 'box',
    locations: ['CZ', 'EU-CZ-1'],
    userEnv: {},
    hostEnv: { PATH: '/bin' },
    gpus: [],
    gpuTypeId: '',
    initTimeoutSeconds: 420,
    cpuCount: 4,
    volumePath: undefined,
    ...over,
  });
const gpu = (uuid: string, virtual = false, index?: number) => ({ uuid, name: 'NVIDIA L4', virtual, index });

t.test('the addresses obey the rules of docs/reference/worker-protocol.md#environment', async (t) => {
  const env = build({ gpus: [gpu('GPU-1')] });
  t.equal(env.RUNPOD_WEBHOOK_GET_JOB, 'http://127.0.0.1:9000/v2/ep/tok/job-take/$ID?gpu=NVIDIA+L4');
  t.equal(env.RUNPOD_WEBHOOK_POST_OUTPUT, 'http://127.0.0.1:9000/v2/ep/tok/job-done/$RUNPOD_POD_ID/$ID?gpu=NVIDIA+L4');
  t.equal(
    env.RUNPOD_WEBHOOK_POST_STREAM,
    'http://127.0.0.1:9000/v2/ep/tok/job-stream/$RUNPOD_POD_ID/$ID?gpu=NVIDIA+L4',
  );
  t.equal(env.RUNPOD_WEBHOOK_PING, 'http://127.0.0.1:9000/v2/ep/tok/ping/$RUNPOD_POD_ID?gpu=NVIDIA+L4');
});

t.test('identity', async (t) => {
  t.match(build(), {
    RUNPOD_POD_ID: 'worker00000001',
    RUNPOD_ENDPOINT_ID: 'ep',
    RUNPOD_AI_API_KEY: 'tok',
    RUNPOD_POD_HOSTNAME: 'worker00000001-box',
    RUNPOD_DC_ID: 'CZ',
    RUNPOD_CPU_COUNT: '4',
    RUNPOD_INIT_TIMEOUT: '420',
    PYTHONUNBUFFERED: '1',
    PATH: '/bin',
  });
});

t.test('its network volume', async (t) => {
  t.equal(
    build({ volumePath: '/data/v1', userEnv: { RUNPOD_VOLUME_PATH: '/elsewhere' } }).RUNPOD_VOLUME_PATH,
    '/data/v1',
    'which no template can move',
  );
  t.equal(build().RUNPOD_VOLUME_PATH, undefined);
});

t.test('GPUs', async (t) => {
  t.match(build({ gpus: [gpu('GPU-1'), gpu('MIG-2')], gpuTypeId: 'NVIDIA L4' }), {
    CUDA_VISIBLE_DEVICES: 'GPU-1,MIG-2',
    NVIDIA_VISIBLE_DEVICES: 'GPU-1,MIG-2',
    RUNPOD_GPU_COUNT: '2',
    RUNPOD_GPU_TYPE_ID: 'NVIDIA L4',
    RUNPOD_SKIP_GPU_CHECK: undefined,
  });
  t.notOk('CUDA_DEVICE_ORDER' in build({ gpus: [gpu('GPU-1', false, 0), gpu('MIG-2')] }), 'numbers are all or none');
  t.match(build({ userEnv: { CUDA_VISIBLE_DEVICES: '0,1,2' } }), {
    CUDA_VISIBLE_DEVICES: '',
    NVIDIA_VISIBLE_DEVICES: 'void',
    RUNPOD_GPU_COUNT: '0',
    RUNPOD_SKIP_GPU_CHECK: 'true',
  });
  t.match(build({ gpus: [gpu('VIRTUAL-a-0', true)] }), {
    CUDA_VISIBLE_DEVICES: '',
    RUNPOD_GPU_COUNT: '1',
    RUNPOD_SKIP_GPU_CHECK: 'true',
  });
});

t.test('indices of cards, for programs that know no uuid', async (t) => {
  const gpus = [gpu('GPU-5', false, 5), gpu('GPU-7', false, 7)];
  t.match(build({ gpus }), {
    CUDA_VISIBLE_DEVICES: '5,7',
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    NVIDIA_VISIBLE_DEVICES: 'GPU-5,GPU-7',
  });
  const cuda = (CUDA_VISIBLE_DEVICES: string) =>
    build({ gpus, userEnv: { CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER: 'FASTEST_FIRST' } });
  t.match(
    cuda('0'),
    { CUDA_VISIBLE_DEVICES: '5', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' },
    'a template counts those of its worker',
  );
  t.match(cuda('1, 0'), { CUDA_VISIBLE_DEVICES: '7,5' });
  t.match(cuda('3'), { CUDA_VISIBLE_DEVICES: '' }, 'one that it has not');
  t.match(cuda('GPU-7'), { CUDA_VISIBLE_DEVICES: 'GPU-7' });
});

t.test('in a container CUDA_VISIBLE_DEVICES is unset', async (t) => {
  const env = build({ hostEnv: undefined, gpus: [gpu('GPU-5', false, 5)] });
  t.equal(env.NVIDIA_VISIBLE_DEVICES, 'GPU-5');
  for (const name of ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER']) t.notOk(name in env, name);
  t.equal(
    build({ hostEnv: undefined, gpus: [], userEnv: { CUDA_VISIBLE_DEVICES: '0' } }).CUDA_VISIBLE_DEVICES,
    '0',
    'what its owner says stands',
  );
  t.equal(build({ hostEnv: undefined }).NVIDIA_VISIBLE_DEVICES, 'void');
});

t.test('variables that a template may change', async (t) => {
  const env = build({
    userEnv: {
      MODEL: 'x',
      RUNPOD_DEBUG_LEVEL: 'DEBUG',
      RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'false',
      RUNPOD_POD_ID: 'forged',
      RUNPOD_AI_API_KEY: 'forged',
      RUNPOD_WEBHOOK_GET_JOB: 'http://elsewhere',
      RUNPOD_REALTIME_PORT: '8000',
      RUNPOD_USE_CORE: '1',
    },
  });
  t.match(env, {
    MODEL: 'x',
    RUNPOD_DEBUG_LEVEL: 'DEBUG',
    RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'false',
    RUNPOD_POD_ID: 'worker00000001',
    RUNPOD_AI_API_KEY: 'tok',
  });
  t.match(env.RUNPOD_WEBHOOK_GET_JOB, /127\.0\.0\.1/);
  t.notOk('RUNPOD_REALTIME_PORT' in env);
  t.notOk('RUNPOD_USE_CORE' in env);
});

t.test('a ping interval below a second would be a hot loop', async (t) => {
  t.equal(build().RUNPOD_PING_INTERVAL, '3000');
  t.equal(build({ userEnv: { RUNPOD_PING_INTERVAL: '999' } }).RUNPOD_PING_INTERVAL, '3000');
  t.equal(build({ userEnv: { RUNPOD_PING_INTERVAL: 'soon' } }).RUNPOD_PING_INTERVAL, '3000');
  t.equal(build({ userEnv: { RUNPOD_PING_INTERVAL: '1000' } }).RUNPOD_PING_INTERVAL, '1000');
});

t.test('the bridge is never reached over a proxy', async (t) => {
  t.equal(build().NO_PROXY, '127.0.0.1,localhost');
  const exceptions = 'a.example,127.0.0.1,localhost';
  t.match(build({ userEnv: { HTTPS_PROXY: 'http://proxy', NO_PROXY: 'a.example' } }), {
    NO_PROXY: exceptions,
    no_proxy: exceptions,
  });
});
