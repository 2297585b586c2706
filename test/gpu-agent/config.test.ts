import { totalmem } from 'node:os';
import { readAgentConfig as read } from '@slipway/gpu-agent/config';
import { ConfigError } from '@slipway/kit/host/env';
import t from 'tap';

const readAgentConfig = (env: Record<string, string>, asRoot = false) => read(env, asRoot);
const required = { SLIPWAY_CORE_ADDRESS: '127.0.0.1:50051', SLIPWAY_AGENT_KEY: 'key' };

t.test('defaults', async (t) => {
  const config = readAgentConfig(required);
  t.match(config, {
    coreAddresses: ['127.0.0.1:50051'],
    key: 'key',
    locations: [],
    virtualGpus: [],
    cpuSlots: 8,
    bridgePort: 0,
    stopPolicy: 'auto',
    stopGraceMs: 5_000,
    logLevel: 'info',
    hostEnv: {},
  });
  t.match(config.dataDir, /\.slipway\/agent$/);
  t.equal(config.volumesDir, `${config.dataDir}/volumes`);
  t.equal(readAgentConfig({ ...required, SLIPWAY_VOLUMES_DIR: '/mnt/volumes' }).volumesDir, '/mnt/volumes');
  t.ok(config.name.length > 0);
  const half = totalmem() / 2 / 1000 ** 3;
  t.ok(Math.abs(config.standbyMemoryGb - half) <= 1, `half of the memory: ${config.standbyMemoryGb} of ${half}`);
});

t.test('several addresses and GPUs', async (t) => {
  const config = readAgentConfig({
    ...required,
    SLIPWAY_CORE_ADDRESS: 'a:1, b:2',
    SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2,NVIDIA A40:46068',
  });
  t.same(config.coreAddresses, ['a:1', 'b:2']);
  t.same(
    config.virtualGpus.map(({ name, count }) => [name, count]),
    [
      ['NVIDIA L4', 2],
      ['NVIDIA A40', 1],
    ],
  );
});

t.test('workers see nothing of the agent’s own', async (t) => {
  const { hostEnv } = readAgentConfig({
    ...required,
    PATH: '/bin',
    HOME: '/root',
    HTTPS_PROXY: 'http://p',
    NODE_OPTIONS: '--inspect',
    AWS_SECRET_ACCESS_KEY: 's',
    SLIPWAY_SECRET_KEY: 's',
    NODE_CHANNEL_FD: '3',
    RUNPOD_API_KEY: 'r',
  });
  t.same(hostEnv, { PATH: '/bin', HOME: '/root', HTTPS_PROXY: 'http://p' });
});

t.test('all faults at once', async (t) => {
  const error = t.throws(() =>
    readAgentConfig({ SLIPWAY_VIRTUAL_GPUS: 'L4', SLIPWAY_STOP_POLICY: 'maybe' }),
  ) as ConfigError;
  t.ok(error instanceof ConfigError);
  for (const name of ['SLIPWAY_CORE_ADDRESS', 'SLIPWAY_AGENT_KEY', 'SLIPWAY_VIRTUAL_GPUS', 'SLIPWAY_STOP_POLICY'])
    t.match(error.message, name);
});

t.test('limits of processes in containers', async (t) => {
  const limits = (text: string) => readAgentConfig({ ...required, SLIPWAY_CONTAINER_ULIMITS: text }).containerUlimits;
  t.same(readAgentConfig(required).containerUlimits, []);
  t.same(limits('memlock=unlimited, nofile=1024:2048'), [
    { name: 'memlock', soft: Number.MAX_SAFE_INTEGER, hard: Number.MAX_SAFE_INTEGER },
    { name: 'nofile', soft: 1_024, hard: 2_048 },
  ]);
  for (const wrong of [
    'nofile',
    'files=1',
    'nofile=',
    'nofile=-1',
    'nofile=2:1',
    'nofile=unlimited:1',
    'nofile=1:2:3',
  ]) {
    t.throws(() => limits(wrong), /SLIPWAY_CONTAINER_ULIMITS has .*name=soft:hard/, wrong);
  }
});

t.test('the host user of root in containers', async (t) => {
  const base = (text: string, workerUser = 'per-account') =>
    readAgentConfig({ ...required, SLIPWAY_CONTAINER_USERS: text, SLIPWAY_WORKER_USER: workerUser }).containerUserBase;
  t.equal(readAgentConfig(required).containerUserBase, 0);
  t.equal(base('host'), 0);
  t.equal(base('mapped'), 2_100_000_000);
  t.equal(base('mapped:100000'), 100_000);
  for (const wrong of ['root', 'mapped:', 'mapped:0', 'mapped:65535', 'mapped:4294967295', 'mapped:-1'])
    t.throws(() => base(wrong), /SLIPWAY_CONTAINER_USERS is .*mapped:BASE/, wrong);
  for (const first of [1_999_934_465, 2_000_000_000, 2_001_000_000])
    t.throws(() => base(`mapped:${first}`), /has users of accounts/);
  t.equal(base('mapped:2000000000', 'same'), 2_000_000_000);
});

t.test('the user of workers', async (t) => {
  const setting = (text: string, asRoot = true) =>
    readAgentConfig({ ...required, SLIPWAY_WORKER_USER: text }, asRoot).workerUser;
  t.same(readAgentConfig(required).workerUser, { kind: 'same' });
  t.throws(
    () => readAgentConfig(required, true),
    /SLIPWAY_WORKER_USER is not set, and this agent runs as root\. .*per-account/,
  );
  t.same(setting('same'), { kind: 'same' });
  t.same(setting('per-account'), { kind: 'per-account', base: 2_000_000_000 });
  t.same(setting('per-account:300000'), { kind: 'per-account', base: 300_000 });
  t.same(setting('1234'), { kind: 'numbered', uid: 1234, gid: 1234 });
  t.same(setting('1234:99'), { kind: 'numbered', uid: 1234, gid: 99 });
  t.same(setting('slipway-worker'), { kind: 'named', name: 'slipway-worker' });
  for (const wrong of [
    'root',
    '0',
    '0:0',
    '12:0',
    '-1',
    '4294967295',
    'per-account:0',
    'per-account:4294000000',
    'a b',
    '../x',
    '1.5',
  ]) {
    t.throws(() => setting(wrong), /SLIPWAY_WORKER_USER is .*but must be/, wrong);
  }
});

t.test('a Kubernetes node', async (t) => {
  const node = {
    ...required,
    SLIPWAY_KUBERNETES: 'true',
    SLIPWAY_KUBERNETES_NODE: 'node-0',
    SLIPWAY_KUBERNETES_HOST_IP: '10.0.0.1',
  };
  t.equal(readAgentConfig(required).kubernetes, undefined);
  t.match(readAgentConfig(node, true), {
    name: 'node-0',
    standbyMax: 0,
    kubernetes: { template: {}, volumeClaim: '' },
  });
  const { message } = t.throws(() =>
    readAgentConfig({
      ...required,
      SLIPWAY_KUBERNETES: 'true',
      SLIPWAY_KUBERNETES_POD_TEMPLATE: '{"hostNetwork":true}',
      SLIPWAY_WORKER_USER: 'per-account',
      SLIPWAY_STANDBY_MAX: '4',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      SLIPWAY_PREFETCH: 'true',
    }),
  ) as Error;
  for (const fault of [
    /SLIPWAY_KUBERNETES_NODE is not set/,
    /SLIPWAY_KUBERNETES_HOST_IP is not set/,
    /SLIPWAY_KUBERNETES_POD_TEMPLATE has "hostNetwork"/,
    /SLIPWAY_WORKER_USER is set, but a Pod runs as the user of its image/,
    /SLIPWAY_STANDBY_MAX is not 0, but Kubernetes cannot freeze a Pod/,
    /SLIPWAY_AGENT_ALLOW_COMMANDS is set, but a command would run in the container of the agent/,
    /SLIPWAY_PREFETCH is set, but only a Pod makes Kubernetes pull/,
  ])
    t.match(message, fault);
});
