/** docs/reference/worker-protocol.md against the code: the environment of a worker, and the habits of SDK versions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildWorkerEnv } from '@slipway/gpu-agent/launch/worker-env';
import { sdkTraits } from '@slipway/gpu-agent/workloads/workers/sdk-traits';
import t from 'tap';
import { tableOf } from './page.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/worker-protocol.md'), 'utf8');

const FACTS = {
  workerId: 'w',
  endpointId: 'e',
  token: 't',
  bridgeUrl: 'http://127.0.0.1:1',
  initTimeoutSeconds: 420,
  machineName: 'm',
  locations: ['EU-RO-1'],
  hostEnv: {},
  gpuTypeId: 'NVIDIA L4',
  volumePath: '/runpod-volume',
  cpuCount: 4,
  gpus: [{ uuid: 'u', name: 'NVIDIA L4', virtual: true }],
};

t.test('environment: every variable, and which of them a template may change', async (t) => {
  const rows = tableOf(page, 'Environment', 'Variable');
  const gpus = [{ uuid: 'u', name: 'NVIDIA L4', virtual: false, index: 0 }];
  const env = { ...buildWorkerEnv({ ...FACTS, userEnv: {} }), ...buildWorkerEnv({ ...FACTS, gpus, userEnv: {} }) };
  t.same(rows.map(([name]) => name).sort(), Object.keys(env).sort());
  // A ping interval must be a number that makes sense.
  const userEnv = Object.fromEntries(rows.map(([name]) => [name, '123456']));
  const changed = {
    commands: buildWorkerEnv({ ...FACTS, gpus, userEnv }),
    images: buildWorkerEnv({ ...FACTS, gpus, userEnv, hostEnv: undefined }),
  };
  for (const [name, fixed] of rows) {
    t.equal(changed.commands[name!] === '123456', fixed === '', `${name} of commands`);
    t.equal(changed.images[name!] === '123456', fixed !== 'yes', `${name} of images`);
  }
});

t.test('environment: values of defaults', async (t) => {
  const env = buildWorkerEnv({ ...FACTS, userEnv: {} });
  for (const [name, , value] of tableOf(page, 'Environment', 'Variable').filter(([, fixed]) => fixed === '')) {
    const stated = /^(\d+|INFO|true)\b/.exec(value!)?.[1];
    if (stated !== undefined) t.equal(env[name!], stated, name!);
  }
});

t.test('SDK versions: every row', async (t) => {
  const rows = tableOf(page, 'SDK versions', 'Version');
  t.ok(rows.length > 10);
  const word = (flag: boolean): string => (flag ? 'yes' : 'no');
  for (const row of rows) {
    const { stopChannel, reportsFreeSlots, listsJobs, startsLate, silenceMsMax } = sdkTraits(
      row[0] === 'unknown' ? '' : row[0]!,
    );
    const silence = silenceMsMax === Number.POSITIVE_INFINITY ? 'none' : `${silenceMsMax / 1_000} s`;
    t.same(
      row.slice(1),
      [word(stopChannel), word(reportsFreeSlots), word(listsJobs), word(startsLate), silence],
      row[0]!,
    );
  }
});
