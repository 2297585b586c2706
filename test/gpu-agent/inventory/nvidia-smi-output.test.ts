/**
 * Parsing of nvidia-smi's output: recorded output (recordings/README.md names its sources), then some written by hand.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  LOAD_FIELDS,
  parseCudaVersion,
  parseGpus,
  parseIndexes,
  parseLoads,
  QUERY_FIELDS,
} from '@slipway/gpu-agent/inventory/nvidia-smi-output';
import t from 'tap';

const recording = (machine: string, part: 'query' | 'load' | 'list' | 'summary'): string =>
  readFileSync(join(import.meta.dirname, 'recordings', `${machine}.${part}.txt`), 'utf8');
const whole = (uuid: string, name: string, memoryMib: number) => ({
  uuid,
  name,
  memoryMib,
  migProfile: '',
  virtual: false,
});
const slice = (uuid: string, name: string, migProfile: string, memoryMib: number) => ({
  uuid,
  name,
  memoryMib,
  migProfile,
  virtual: false,
});

/** Most recordings have a card's UUID masked like this. */
const MASKED = 'GPU-00000000-0000-0000-0000-000000000000';
const [H100, H200, A100] = ['NVIDIA H100 80GB HBM3', 'NVIDIA H200', 'A100-SXM4-40GB'];

/** Machines with all three answers recorded. The values were read from the recordings by eye. */
const MACHINES = {
  h200: { cuda: '13.0', gpus: [whole('GPU-2f777980-206d-067c-55c8-000e056d6f07', H200, 143_771)] },
  h100: { cuda: '13.1', gpus: [whole(MASKED, H100, 81_559)] },
  'h100-mig': {
    cuda: '13.1',
    gpus: [
      slice('MIG-00000000-0000-0000-0000-000000000000', H100, '3g.40gb', 40_448),
      slice('MIG-00000001-0000-0000-0000-000000000001', H100, '2g.20gb', 20_096),
      slice('MIG-00000002-0000-0000-0000-000000000002', H100, '1g.10gb', 9984),
      slice('MIG-00000003-0000-0000-0000-000000000003', H100, '1g.10gb', 9984),
    ],
  },
  'h200-mig': { cuda: '13.3', gpus: [slice('MIG-f165f0ad-bde2-5b72-acdf-73bbf48eeb2c', H200, '3g.71gb', 71_424)] },
  'h200-mig-shared': {
    cuda: '13.1',
    gpus: [
      slice('MIG-00000000-0000-0000-0000-000000000000', H200, '1c.3g.71gb', 71_424),
      slice('MIG-00000001-0000-0000-0000-000000000001', H200, '2c.3g.71gb', 71_424),
      slice('MIG-00000002-0000-0000-0000-000000000002', H200, '2g.35gb', 33_280),
      slice('MIG-00000003-0000-0000-0000-000000000003', H200, '1g.18gb', 16_384),
      slice('MIG-00000004-0000-0000-0000-000000000004', H200, '1g.18gb', 16_384),
    ],
  },
  l40s: { cuda: '13.2', gpus: [whole(MASKED, 'NVIDIA L40S', 46_068)] },
  'rtx4080-super': { cuda: '13.2', gpus: [whole(MASKED, 'NVIDIA GeForce RTX 4080 SUPER', 16_376)] },
  'rtx2080-super': { cuda: '13.3', gpus: [whole(MASKED, 'NVIDIA GeForce RTX 2080 SUPER', 8192)] },
};

for (const [machine, expected] of Object.entries(MACHINES)) {
  t.test(`recorded: ${machine}`, async (t) => {
    const query = recording(machine, 'query');
    for (const field of QUERY_FIELDS)
      t.ok(query.split('\n')[0]!.includes(field), `the driver names the column ${field}`);
    t.same(parseGpus(query, recording(machine, 'list'), recording(machine, 'summary')), expected.gpus);
    t.equal(parseCudaVersion(recording(machine, 'summary')), expected.cuda);
  });
}

t.test('indices of cards, but not beside one in MIG mode', async (t) => {
  const [uuid] = MACHINES.h200.gpus.map((gpu) => gpu.uuid);
  t.same([...parseIndexes(recording('h200', 'query'), recording('h200', 'list'))], [[uuid, 0]]);
  t.equal(parseIndexes(recording('h100-mig', 'query'), recording('h100-mig', 'list')).size, 0);
  const list = 'GPU 0: NVIDIA L4 (UUID: GPU-a)\nGPU 1: NVIDIA L4 (UUID: GPU-b)\n';
  const query = (mode: string): string =>
    `uuid, memory.total [MiB], mig.mode.current\nGPU-a, 1 MiB, ${mode}\nGPU-b, 1 MiB, [N/A]\n`;
  t.same(
    [...parseIndexes(query('Disabled'), list)],
    [
      ['GPU-a', 0],
      ['GPU-b', 1],
    ],
  );
  t.equal(parseIndexes(query('Enabled'), list).size, 0, 'not even one without slices');
});

t.test('recorded: how busy an H200 is', async (t) => {
  const load = recording('h200', 'load');
  t.same(
    load
      .split('\n')[0]!
      .split(', ')
      .map((name) => name.replace(/ \[.*/, '')),
    LOAD_FIELDS,
  );
  const [uuid] = MACHINES.h200.gpus.map((gpu) => gpu.uuid);
  t.same(parseLoads(MACHINES.h200.gpus, load, '', ''), [
    { uuid, utilization: 0.98, memoryUsedMib: 883, temperatureCelsius: 58, powerWatts: 693.7 },
  ]);
});

t.test(
  'how busy slices are: memory of their own, temperature and power of their card; what the driver does ' +
    'not tell is not known',
  async (t) => {
    const { gpus } = MACHINES['h200-mig-shared'];
    const load =
      'uuid, utilization.gpu [%], memory.used [MiB], temperature.gpu, power.draw [W]\n' +
      `${MASKED}, [N/A], 55 MiB, 28, 78.20 W\n`;
    const [list, summary] = [recording('h200-mig-shared', 'list'), recording('h200-mig-shared', 'summary')];
    const rest = { utilization: undefined, temperatureCelsius: 28, powerWatts: 78.2 };
    t.same(
      parseLoads(gpus, load, list, summary),
      [22, 22, 17, 9, 9].map((memoryUsedMib, n) => ({ ...rest, uuid: gpus[n]!.uuid, memoryUsedMib })),
    );
    t.same(
      parseLoads(gpus, load, list, '')[0],
      { ...rest, uuid: gpus[0]!.uuid, memoryUsedMib: undefined },
      'without the table',
    );
    t.same(parseLoads(gpus, load, '', summary), [], 'without the list');
    const card = whole(MASKED, H100, 81_559);
    const unknown = {
      uuid: MASKED,
      utilization: undefined,
      memoryUsedMib: undefined,
      temperatureCelsius: undefined,
      powerWatts: undefined,
    };
    t.same(
      parseLoads([card], `uuid, …\n${MASKED}, [Unknown Error], [N/A], [GPU requires reset], [Not Supported]\n`, '', ''),
      [unknown],
    );
    t.same(
      parseLoads([card, whole('GPU-lost', H100, 1)], load, '', '').map(({ uuid }) => uuid),
      [MASKED],
      'a card that is not in the answer',
    );
  },
);

t.test('recorded: slices of an A100 by an older driver; query and summary were not recorded', async (t) => {
  const instances = [7, 8, 9, 11, 12, 13, 14];
  t.same(
    parseGpus('', recording('a100-mig', 'list'), ''),
    instances.map((id) => slice(`MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/${id}/0`, A100, '1g.5gb', 5120)),
  );
});

t.test('recorded: slices of two cards with their own UUIDs; query and summary were not recorded', async (t) => {
  const gpus = parseGpus('', recording('two-h100-mig', 'list'), '');
  t.same(
    [...new Set(gpus.map(({ name, migProfile, memoryMib }) => `${name} ${migProfile} ${memoryMib}`))],
    [`${H100} 1g.10gb 10240`],
  );
  t.same(
    gpus.map(({ uuid }) => uuid.slice(0, 12)),
    [
      ...[
        'MIG-4d0efb7d',
        'MIG-7d8b2e8d',
        'MIG-ec4af7a3',
        'MIG-ee5bffff',
        'MIG-6201bd07',
        'MIG-b0483f2f',
        'MIG-f9cebd56',
      ],
      ...[
        'MIG-9e577b56',
        'MIG-ccc16071',
        'MIG-d9705e92',
        'MIG-c3cda6f5',
        'MIG-1f55da33',
        'MIG-ca599e38',
        'MIG-15f2fb26',
      ],
    ],
  );
});

t.test('recorded: the header of an older driver', async (t) => {
  t.equal(parseCudaVersion(recording('t4', 'summary')), '11.0');
});

t.test('combined from two recordings of one machine: MIG mode without slices offers nothing', async (t) => {
  t.same(parseGpus(recording('h100-mig', 'query'), recording('h100', 'list'), ''), []);
});

t.test(
  'written by hand: a sliced card beside a whole one, profiles with media engines, columns in another order',
  async (t) => {
    const query = 'mig.mode.current, memory.total [MiB], uuid\nEnabled, 81920 MiB, GPU-1\nDisabled, 81920 MiB, GPU-2\n';
    const list = [
      'GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)',
      '  MIG 1g.10gb+me  Device  0: (UUID: MIG-1)',
      'GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-2)',
      '',
    ].join('\n');
    const name = 'NVIDIA A100-SXM4-80GB';
    t.same(parseGpus(query, list, ''), [slice('MIG-1', name, '1g.10gb+me', 10_240), whole('GPU-2', name, 81_920)]);
  },
);

t.test('written by hand: memory of the host, and a MIG mode that the driver does not know', async (t) => {
  const query = 'uuid, memory.total [MiB], mig.mode.current\nGPU-1, [N/A], [N/A]\nGPU-2, 2002 MiB, [Not Supported]\n';
  const list = 'GPU 0: NVIDIA GB10 (UUID: GPU-1)\nGPU 1: GeForce 930M (UUID: GPU-2)\n';
  t.same(parseGpus(query, list, ''), [whole('GPU-1', 'NVIDIA GB10', 0), whole('GPU-2', 'GeForce 930M', 2002)]);
});

t.test('written by hand: nothing to read', async (t) => {
  t.same(parseGpus('', '', ''), []);
  t.same(parseGpus('No devices were found\n', 'No devices were found\n', 'No devices were found\n'), []);
  t.same(
    parseGpus('uuid, memory.total [MiB], mig.mode.current\n', 'GPU 0: NVIDIA L4 (UUID: GPU-1)\n', ''),
    [],
    'a card the query leaves out',
  );
  t.equal(parseCudaVersion("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"), '');
  t.equal(parseCudaVersion('| NVIDIA-SMI 410.79       Driver Version: 410.79       CUDA Version: N/A      |\n'), '');
});
