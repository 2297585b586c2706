// test: postgres, python, 10 s
/**
 * The management functions of the Python package `runpod`, unmodified, against a system; a job runs on the endpoint
 * that they made.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { graphqlClient } from '../../facades/graphql/graphql-client.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

const run = promisify(execFile);
const GPU = 'NVIDIA RTX A4000';

/** Results of the script's functions, by function. */
type Answers = Record<string, Record<string, unknown> & { id: string }>;

t.setTimeout(600_000);
t.test('Python management functions', { skip: skipWithoutPython('new', 'old') }, async (t) => {
  const system = await startSystem(t, {
    agentEnv: { SLIPWAY_VIRTUAL_GPUS: `${GPU}:16376x2`, SLIPWAY_AGENT_LOCATIONS: 'CZ,EU-CZ-1' },
  });
  // The SDK creates no pod without an image.
  const gpus = ['a', 'b'].map((letter) => ({ uuid: `GPU-${letter}`, name: GPU, memoryMib: 16_376, migProfile: '' }));
  await joinEngineMachine(t, system, { gpus, locations: ['CZ', 'EU-CZ-1'] });
  const { ok } = graphqlClient(t, system.url, system.key);
  const { createNetworkVolume: volume } = await ok<{ createNetworkVolume: { id: string } }>(
    'mutation { createNetworkVolume(input: { name: "data", size: 5, dataCenterId: "EU-CZ-1" }) { id name size ' +
      'dataCenterId } }',
  );
  for (const version of Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]) {
    await t.test(`${version} SDK`, async (t) => {
      const command = pythonHandler(version, 'all.py')
        .map((word) => `"${word}"`)
        .join(' ');
      const given = { key: system.key, name: version, command, gpu: GPU, volume: volume.id };
      const { stdout } = await run(
        PYTHONS[version],
        [join(import.meta.dirname, 'management.py'), JSON.stringify(given)],
        {
          env: { ...process.env, RUNPOD_API_BASE_URL: system.url, RUNPOD_ENDPOINT_BASE_URL: `${system.url}/v2` },
          timeout: 200_000,
        },
      );
      const seen = JSON.parse(stdout.trim().split('\n').at(-1)!) as Answers;
      checkAccount(t, seen, { accountId: system.accountId, volume });
      checkEndpoint(t, seen, version);
      checkPods(t, seen, version);
      const { myself } = await ok<{ myself: { endpoints: { id: string }[] } }>('{ myself { endpoints { id } } }');
      // The next one needs the GPU.
      for (const { id } of myself.endpoints)
        await ok(`mutation { saveEndpoint(input: { id: "${id}", workersMax: 0 }) { id } deleteEndpoint(id: "${id}") }`);
    });
  }
});

function checkAccount(t: Test, seen: Answers, { accountId, volume }: { accountId: string; volume: object }): void {
  t.match(seen.user, { id: accountId, networkVolumes: [volume] });
  t.same(seen.settings, { id: accountId, pubKey: 'ssh-ed25519 AAAA me@here\nssh-rsa BBBB you@there' });
  t.match(seen.gpus, [{ id: GPU, displayName: 'RTX A4000', memoryInGb: 16 }], 'what machines have comes first');
  t.match(seen.gpu, {
    id: GPU,
    maxGpuCount: 2,
    manufacturer: 'NVIDIA',
    secureCloud: true,
    lowestPrice: { minimumBidPrice: 0, uninterruptablePrice: 0 },
  });
  t.match(seen.no_gpu, /No GPU found/);
  t.match(seen.auth, { id: String, name: /^auth-/ });
  t.match(seen.auth_again, /^QueryError: .*already/);
  t.same(seen.auth_updated, seen.auth);
  t.match(seen.auth_in_use, /^QueryError: /);
  t.equal(seen.auth_deleted, null);
  t.match(seen.wrong_key, /^AuthenticationError: /);
}

function checkEndpoint(t: Test, seen: Answers, version: string): void {
  t.match(seen.template, {
    name: `first-${version}`,
    imageName: '',
    dockerArgs: /all\.py/,
    containerDiskInGb: 5,
    volumeInGb: 0,
    volumeMountPath: '/data',
    ports: '8888/http,22/tcp',
    env: [{ key: 'LETTER', value: 'a' }],
    isServerless: true,
  });
  t.match(seen.endpoint, {
    templateId: seen.template!.id,
    gpuIds: 'AMPERE_16',
    locations: 'CZ',
    idleTimeout: 60,
    scalerType: 'QUEUE_DELAY',
    scalerValue: 1,
    workersMin: 0,
    workersMax: 1,
    gpuCount: 1,
    allowedCudaVersions: '',
  });
  // The 1.7 line requests FlashBoot by the end of the name, and does not read the field.
  t.equal(seen.endpoint!.name, version === 'new' ? 'endpoint-new' : 'endpoint-old-fb');
  if (version === 'new') t.equal(seen.endpoint!.flashBootType, 'FLASHBOOT');
  t.match(seen.no_template, /^QueryError: .*template/);
  t.same(seen.answer, { echo: { mode: 'echo', letter: 'a' } });
  t.equal(seen.updated!.id, seen.endpoint!.id);
  t.not(seen.updated!.templateId, seen.template!.id);
  t.match(seen.endpoints, [
    {
      id: seen.endpoint!.id,
      templateId: seen.updated!.templateId,
      aiKey: null,
      type: 'QB',
      version: 1,
      workersStandby: 0,
      env: [],
      networkVolume: { dataCenterId: 'EU-CZ-1' },
    },
  ]);
  t.same(seen.second_answer, { echo: { mode: 'echo', letter: 'b' } });
}

function checkPods(t: Test, seen: Answers, version: string): void {
  t.match(seen.pod_created, {
    imageName: 'process',
    env: ['A=1', 'B=two words'],
    machineId: String,
    machine: { podHostId: String },
  });
  const pod = {
    id: seen.pod_created!.id,
    name: `pod-${version}`,
    desiredStatus: 'RUNNING',
    dockerArgs: 'sleep 3600',
    gpuCount: 1,
    podType: 'RESERVED',
    ports: '8888/http',
    volumeMountPath: '/runpod-volume',
    machine: { gpuDisplayName: 'RTX A4000' },
  };
  t.match(seen.pods, [pod]);
  t.match(seen.pod_got, pod);
  t.match(seen.no_room, /^QueryError: There are no longer any instances available with the requested specifications\./);
  t.same(seen.pod_stopped, { id: pod.id, desiredStatus: 'EXITED' });
  t.match(seen.pod_resumed, {
    id: pod.id,
    desiredStatus: 'RUNNING',
    imageName: 'process',
    env: ['A=1', 'B=two words'],
  });
  t.equal(seen.pod_gone, null);
  t.match(seen.cpu_pod, { name: `cpu-${version}`, gpuCount: 0, desiredStatus: 'RUNNING' });
  t.match(seen.no_command, /^QueryError: There is no pod/);
}
