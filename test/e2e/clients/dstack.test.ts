// test: postgres, dstack
/**
 * The RunPod backend of dstack, unmodified but for its fixed address, over REST v2 and GraphQL: check of the key,
 * volumes, jobs on GPUs and processors with their public SSH ports, and credentials that it removes again.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const PLACE = 'EU-RO-1';
const SSH_PORT = 10_022;

t.setTimeout(600_000);

requireDeclared('dstack');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_DSTACK ?? join(import.meta.dirname, '../../../.slipway-test/dstack/bin/python');
const skip = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';

t.test('dstack', { skip }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_564, migProfile: '' }];
  const agent = await joinEngineMachine(t, system, {
    ...{ gpus, locations: [PLACE, 'RO'], cpuCount: 16, memoryMib: 65_536, cudaVersion: '13.0' },
  });
  /** Reports the first pod as running, with its public SSH port. */
  const reportPod = async () => {
    const pod = await waitFor('the first pod', () => agent.desiredPods.find(({ running }) => running));
    const tcpPorts = [{ port: SSH_PORT, address: 'machine.example:12345' }];
    agent.send({ pods: [{ podId: pod.podId, run: pod.run, state: PodState.RUNNING, tcpPorts }] });
    return pod;
  };
  const given = { url: system.url, key: system.key, gpu: GPU, place: PLACE };
  const script = join(import.meta.dirname, 'dstack_client.py');
  const [{ stdout }, pod] = await Promise.all([
    promisify(execFile)(PYTHON, [script, JSON.stringify(given)], { timeout: 300_000 }),
    reportPod(),
  ]);
  const seen = JSON.parse(stdout.trim().split('\n').at(-1)!) as object;
  const container = {
    image: 'me/task:1',
    entrypoint: ['/bin/sh'],
    ports: ['10022/tcp'],
    env: { RUNPOD_POD_USER: '0' },
  };
  t.match(seen, {
    version: /^0\.22\./,
    key: 'it did not fail',
    'wrong key': /^BackendInvalidCredentialsError/,
    volume: { created: 12, registered: 12 },
    job: {
      ...container,
      dataCenterId: PLACE,
      disk: 20,
      gpu: { id: GPU, count: 1 },
      mounts: { network: [{ path: '/data' }] },
      registry: String,
    },
    'credentials kept': 1,
    reached: ['machine.example', 12_345],
    'volume in use': /^RunpodV2ClientError: 400: /,
    gone: null,
    'on processors': { ...container, cpu: { id: 'cpu3c', vcpuCount: 2, memory: 4 } },
    community: { ...container, entrypoint: ['/bin/sh', '-c'] },
    'too large': /^RunpodV2ClientError: 400: .*1 machine is too small/,
    'credentials cleaned': [],
    'volume gone': null,
    cluster: /^(RunpodV2ClientError|HTTPError): 501/,
  });
  t.match(pod.spec, { entrypoint: ['/bin/sh'], startCommand: ['-c', /sshd/], ports: ['10022/tcp'] });
});
