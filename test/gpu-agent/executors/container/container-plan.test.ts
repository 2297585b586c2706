// test: alone, python
/**
 * Requests to Docker and Podman to create containers: GPUs, effective limits, nothing more. And a made-up CDI device in
 * a real container.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { ContainerPlan } from '@slipway/gpu-agent/executors/container/container-plan';
import { dockerBody, podmanBody } from '@slipway/gpu-agent/executors/container/container-plan';
import { mapsUsers } from '@slipway/gpu-agent/executors/container/container-users';
import type { Engine } from '@slipway/gpu-agent/executors/container/engine';
import type { Launch } from '@slipway/gpu-agent/executors/executor';
import t from 'tap';
import { freshId, launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';

t.setTimeout(600_000);

const plan = (launch: Partial<Launch>, more: Partial<ContainerPlan> = {}): ContainerPlan => ({
  launch: launchOf('', { command: [], ...launch }),
  imageId: 'sha256:1',
  imageDiskBytes: 0,
  machineId: 'm',
  network: 'n',
  limits: ['memory', 'cpus', 'pids', 'shm'],
  cdiKind: 'nvidia.com/gpu',
  ulimits: [],
  userBase: 0,
  ...more,
});
const GPUS = [
  { uuid: 'GPU-1', virtual: false },
  { uuid: 'MIG-2', virtual: false },
  { uuid: 'virtual-3', virtual: true },
];

t.test('exactly the assigned GPUs, without virtual ones', async (t) => {
  t.match(podmanBody(plan({ gpus: GPUS })), {
    devices: [{ path: 'nvidia.com/gpu=GPU-1' }, { path: 'nvidia.com/gpu=MIG-2' }],
  });
  t.match(dockerBody(plan({ gpus: GPUS })), {
    HostConfig: { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: ['GPU-1', 'MIG-2'], Capabilities: [['gpu']] }] },
  });
  t.same((podmanBody(plan({ gpus: GPUS.slice(2) })) as { devices: [] }).devices, []);
  t.notOk('DeviceRequests' in (dockerBody(plan({ gpus: GPUS.slice(2) })) as { HostConfig: object }).HostConfig);
});

t.test('limits without effect are not requested', async (t) => {
  const limits = { memoryBytes: 64 << 20, cpus: 0.5, pids: 9, shmBytes: 1 << 20, diskBytes: 5_000_000_000 };
  const { HostConfig } = dockerBody(plan({ limits })) as { HostConfig: object };
  t.match(HostConfig, {
    Memory: 64 << 20,
    MemorySwap: 64 << 20,
    CpuPeriod: 100_000,
    CpuQuota: 50_000,
    PidsLimit: 9,
    ShmSize: 1 << 20,
  });
  t.notOk('StorageOpt' in HostConfig);
  t.match(dockerBody(plan({ limits }, { limits: ['disk'] })), { HostConfig: { StorageOpt: { size: '5000000000' } } });
  t.match(dockerBody(plan({ limits }, { limits: ['disk'], imageDiskBytes: 7 })), {
    HostConfig: { StorageOpt: { size: '5000000007' } },
  });
  t.match(podmanBody(plan({ limits }, { limits: ['disk', 'cpus'] })), {
    storage_opts: { size: '5000000000' },
    resource_limits: { cpu: { quota: 50_000 } },
  });
  t.notMatch(podmanBody(plan({ limits }, { limits: ['disk'] })), { resource_limits: { memory: {} } });
});

t.test('containers without limits get defaults that protect the host and let PyTorch run', async (t) => {
  t.match(dockerBody(plan({})), { HostConfig: { PidsLimit: 16_384, ShmSize: 2 * 1024 ** 3 } });
  t.match(podmanBody(plan({ limits: { ...NO_LIMITS, memoryBytes: 64 << 20 } })), {
    resource_limits: { pids: { limit: 16_384 } },
    shm_size: 32 << 20,
  });
});

t.test("unset options keep the image's values", async (t) => {
  for (const word of ['Cmd', 'Entrypoint', 'WorkingDir']) t.notOk(word in dockerBody(plan({})), word);
  for (const word of ['command', 'entrypoint', 'work_dir']) t.notOk(word in podmanBody(plan({})), word);
  t.match(dockerBody(plan({}, { ulimits: [{ name: 'nofile', soft: 1, hard: 2 }] })), {
    HostConfig: { Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }] },
  });
});

// The second because Podman's own default is more than a small virtual machine may give.
const LIMITS = [
  { name: 'memlock', soft: 1_048_576, hard: 2_097_152 },
  { name: 'nofile', soft: 123, hard: 456 },
  { name: 'nproc', soft: 4_000, hard: 4_000 },
];

t.test('a made-up vendor of CDI devices', { skip: podmanSkip }, async (t) => {
  const kind = `slipway-${freshId()}.example/gpu`;
  const device = (name: string): object => ({
    name,
    containerEdits: {
      env: [`GOT_${name.replace('-', '_')}=yes`],
      deviceNodes: [{ path: `/dev/made-up-${name}`, hostPath: '/dev/null' }],
    },
  });
  mkdirSync('/var/run/cdi', { recursive: true });
  const file = `/var/run/cdi/${kind.split('.')[0]!}.json`;
  writeFileSync(
    file,
    JSON.stringify({ cdiVersion: '0.5.0', kind, devices: [device('GPU-one'), device('GPU-two'), device('MIG-three')] }),
  );
  t.teardown(() => rmSync(file));

  const { executor } = makeExecutor(await startPodman(), { cdiKind: kind, ulimits: LIMITS });
  const launch = launchOf('env; ls /dev; ulimit -n; ulimit -l', {
    gpus: [
      { uuid: 'GPU-one', virtual: false },
      { uuid: 'MIG-three', virtual: false },
    ],
  });
  const workload = await startContainer(executor, launch);
  t.same(await workload.ended, { code: 0, signal: undefined, failure: undefined });
  t.match(launch.output(), /GOT_GPU_one=yes[\s\S]*made-up-GPU-one\nmade-up-MIG-three\n/);
  t.notMatch(launch.output(), /two/);
  t.match(launch.output(), /^123$/m);
  t.match(launch.output(), /^1024$/m, 'in KiB');

  const missing = await startContainer(executor, launchOf('', { gpus: [{ uuid: 'GPU-none', virtual: false }] }));
  t.match((await missing.ended).failure, /GPU-none/);
});

t.test('an engine without user mapping is not used where mapping is required', async (t) => {
  const engine = { kind: 'docker', rootless: false, remapsUsers: false } as Engine['facts'];
  t.throws(() => mapsUsers(engine, 7_700_000), /userns-remap/);
  t.notOk(mapsUsers({ ...engine, remapsUsers: true }, 7_700_000), 'it maps them by itself');
  t.notOk(mapsUsers(engine, 0), 'not asked for');
  t.ok(mapsUsers({ ...engine, kind: 'podman' }, 7_700_000));
  t.notOk(mapsUsers({ ...engine, kind: 'podman', rootless: true }, 7_700_000));
});
