// test: alone
/**
 * The driver's tool is asked and its answers are understood: a script first on the PATH answers as a recorded machine
 * did.
 */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { readGpus } from '@slipway/gpu-agent/inventory/read-gpus';
import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';

const recordings = join(import.meta.dirname, 'recordings');
const logger = createLogger('test', 'silent');

function putToolFirst(t: Test, script: string): void {
  const folder = t.testdir({ 'nvidia-smi': `#!/bin/sh\n${script}` });
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  const before = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = before;
  });
  process.env.PATH = `${folder}:${before}`;
}

t.test('a machine with MIG slices', async (t) => {
  putToolFirst(
    t,
    `case "$*" in
  "--query-gpu=uuid,memory.total,mig.mode.current --format=csv") exec cat ${recordings}/h100-mig.query.txt ;;
  "-L") exec cat ${recordings}/h100-mig.list.txt ;;
  "") exec cat ${recordings}/h100-mig.summary.txt ;;
  *) exit 9 ;;
esac`,
  );
  const { gpus, cudaVersion } = await readGpus(logger);
  t.equal(cudaVersion, '13.1');
  t.same(
    gpus.map((gpu) => [gpu.migProfile, gpu.memoryMib]),
    [
      ['3g.40gb', 40_448],
      ['2g.20gb', 20_096],
      ['1g.10gb', 9984],
      ['1g.10gb', 9984],
    ],
  );
});

t.test('a failing driver counts as none', async (t) => {
  putToolFirst(t, 'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."; exit 9');
  t.same(await readGpus(logger), { gpus: [], cudaVersion: '' });
});

t.test('a machine with a lost card has the others', async (t) => {
  putToolFirst(
    t,
    `lost() { echo "Unable to determine the device handle for GPU1: 0000:3B:00.0: GPU is lost."; exit 15; }
case "$*" in
  --query-gpu=*) printf 'uuid, memory.total [MiB], mig.mode.current\nGPU-1, 23034 MiB, [N/A]\n'; lost ;;
  "-L") echo "GPU 0: NVIDIA L4 (UUID: GPU-1)"; lost ;;
  "") lost ;;
esac`,
  );
  t.same(await readGpus(logger), {
    gpus: [{ uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 23_034, migProfile: '', virtual: false }],
    cudaVersion: '',
  });
});
