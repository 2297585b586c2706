// test: postgres, runpod-two, 10 s
/**
 * The Python package `runpod` 2.x, unmodified, over REST v2 and GraphQL: every main resource, the client behind its
 * apps, and a job.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const PLACE = 'EU-RO-1';

t.setTimeout(600_000);

requireDeclared('runpod-two');
const PYTHON =
  process.env.SLIPWAY_TEST_PYTHON_RUNPOD_TWO ??
  join(import.meta.dirname, '../../../.slipway-test/runpod-two/bin/python');
const skip = existsSync(PYTHON) ? false : 'needs python3 with venv: then run `npm run test:python`';

t.test('runpod 2.x', { skip }, async (t) => {
  const system = await startSystem(t);
  // The package creates nothing without an image.
  const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_564, migProfile: '' }];
  await joinEngineMachine(t, system, { gpus, locations: [PLACE], cpuCount: 16, memoryMib: 65_536 });
  const jobs = await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 });
  const given = { key: system.key, gpu: GPU, pool: 'ADA_24', place: PLACE, jobs };
  const { stdout } = await promisify(execFile)(
    PYTHON,
    [join(import.meta.dirname, 'runpod_two.py'), JSON.stringify(given)],
    {
      env: { ...process.env, RUNPOD_API_BASE_URL: system.url, RUNPOD_ENDPOINT_BASE_URL: `${system.url}/v2` },
      timeout: 300_000,
    },
  );
  const seen = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, { id: string }>;
  const { auth, template, endpoint, pod } = seen;
  t.match(seen, {
    version: /^2\./,
    user: { id: system.accountId },
    keys: { pubKey: /^ssh-ed25519 / },
    gpu: { id: GPU, pool: 'ADA_24', memory: 24 },
    auth: { name: 'two' },
    'auth changed': { id: auth!.id },
    template: { image: 'me/two:1', cmd: ['python', '-u', 'main.py'], env: { A: 'b=c' }, registry: auth!.id },
    endpoint: { name: 'two', type: 'QUEUE', gpu: { pools: ['ADA_24'] }, flashboot: 'FLASHBOOT', image: 'me/two:1' },
    relinked: { id: String },
    pod: { gpu: { id: GPU, count: 1, vcpuCount: 16, memory: 64 }, ports: ['22/tcp'] },
    pods: [pod!.id],
    'too large': /no longer any instances .* on a machine with at least 4000 GB of memory: 1 machine is too small/,
    stopped: { status: 'EXITED' },
    resumed: { id: pod!.id },
    terminated: null,
    gone: null,
    job: { mode: 'echo', word: 'two' },
    dev: { cpu: [{ id: 'cpu3c', vcpuCount: 2 }], timeout: 0, env: { B: '1' } },
    'dev changed': { workers: { idleTimeout: 90 } },
    'dev workers': { summary: { total: 0 }, workers: [] },
    'dev deleted': true,
    volume: { size: 10, dataCenter: PLACE },
    secret: { name: 'two' },
    secrets: [{ name: 'two' }],
    apps: /^QueryError: flashApps: flash apps, .* do not exist here/,
    'auth deleted': true,
  });
  t.ok(Number(seen['gpus']) >= 49);
  t.ok((seen['endpoints'] as unknown as string[]).includes(endpoint!.id));
  t.ok(template!.id);
});
