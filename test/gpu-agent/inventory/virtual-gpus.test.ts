import { makeVirtualGpus, parseVirtualGpu } from '@slipway/gpu-agent/inventory/virtual-gpus';
import t from 'tap';

t.test('what the configuration says', async (t) => {
  t.same(parseVirtualGpu('NVIDIA L4:24576x2'), { name: 'NVIDIA L4', memoryMib: 24_576, count: 2 });
  t.same(parseVirtualGpu(' NVIDIA A40 : 46068 '), { name: 'NVIDIA A40', memoryMib: 46_068, count: 1 });
  for (const wrong of ['', 'NVIDIA L4', ':24576', 'NVIDIA L4:0', 'NVIDIA L4:24576x0', 'NVIDIA L4:lots'])
    t.equal(parseVirtualGpu(wrong), undefined, wrong);
});

t.test('each has its own name', async (t) => {
  const gpus = makeVirtualGpus(
    [
      { name: 'NVIDIA L4', memoryMib: 24_576, count: 2 },
      { name: 'NVIDIA A40', memoryMib: 46_068, count: 1 },
    ],
    'abc',
  );
  t.same(
    gpus.map((gpu) => gpu.uuid),
    ['VIRTUAL-abc-0', 'VIRTUAL-abc-1', 'VIRTUAL-abc-2'],
  );
  t.same(
    gpus.map((gpu) => gpu.name),
    ['NVIDIA L4', 'NVIDIA L4', 'NVIDIA A40'],
  );
  t.ok(gpus.every((gpu) => gpu.virtual));
});
