/**
 * What is made of nvidia-smi's answers. The samples are written by hand after the documented form; none was recorded on a real machine yet.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parseCudaVersion, parseGpus } from '../../../gpu-agent/inventory/nvidia-smi-output.ts';

const sample = (card: string, part: string): string => readFileSync(join(import.meta.dirname, 'samples', `${card}.${part}.txt`), 'utf8');
const whole = (uuid: string, name: string, memoryMib: number) => ({ uuid, name, memoryMib, migProfile: '', virtual: false });

const CARDS = {
  h100: { cuda: '12.4', gpus: [whole('GPU-8a1f3f0c-0a4b-7d22-54f7-8e8f3c1d9b02', 'NVIDIA H100 80GB HBM3', 81_559)] },
  rtx4090: { cuda: '13.0', gpus: [whole('GPU-e1b3b6f2-3f0e-8c61-0d5a-7f1c2d9be6a4', 'NVIDIA GeForce RTX 4090', 24_564)] },
  'two-l4': {
    cuda: '13.1',
    gpus: [
      whole('GPU-2c3d6a11-6f0f-3a52-9c1b-0f4f9f6f3d55', 'NVIDIA L4', 23_034),
      whole('GPU-9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0', 'NVIDIA L4', 23_034),
    ],
  },
  // It shares the host's memory and has no number of its own.
  spark: { cuda: '', gpus: [whole('GPU-77aa0c3e-1b2d-4f5e-8a9b-0c1d2e3f4a5b', 'NVIDIA GB10', 0)] },
  'a100-mig': {
    cuda: '12.2',
    gpus: [
      { uuid: 'MIG-7d2a9e0c-2f19-5f60-8f0e-0a0d3c7a4e5b', name: 'NVIDIA A100-SXM4-80GB', memoryMib: 40_960, migProfile: '3g.40gb', virtual: false },
      { uuid: 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f', name: 'NVIDIA A100-SXM4-80GB', memoryMib: 10_240, migProfile: '1g.10gb', virtual: false },
      { uuid: 'MIG-1a5b0f4e-6d4c-5b11-9f0d-2b8a1c7d3e90', name: 'NVIDIA A100-SXM4-80GB', memoryMib: 10_240, migProfile: '1g.10gb+me', virtual: false },
      whole('GPU-0b7f1d7e-92d1-5b0e-5c0b-6d6d2a3c4e11', 'NVIDIA A100-SXM4-80GB', 81_920),
    ],
  },
};

for (const [card, expected] of Object.entries(CARDS)) {
  t.test(card, async (t) => {
    t.same(parseGpus(sample(card, 'query'), sample(card, 'list')), expected.gpus);
    t.equal(parseCudaVersion(sample(card, 'summary')), expected.cuda);
  });
}

t.test('nothing to read', async (t) => {
  t.same(parseGpus('', ''), []);
  t.same(parseGpus('No devices were found\n', ''), []);
});

t.test('columns in another order', async (t) => {
  const query = 'name, mig.mode.current, memory.total [MiB], uuid\nNVIDIA L4, [N/A], 23034 MiB, GPU-1\n';
  t.same(parseGpus(query, ''), [whole('GPU-1', 'NVIDIA L4', 23_034)]);
});
