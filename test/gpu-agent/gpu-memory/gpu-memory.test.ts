/** State of moves of GPU memory on a machine. */
import { buildGpuMemory } from '@slipway/gpu-agent/gpu-memory/build-gpu-memory';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { CUDA, cudaSkip, startCuda } from '../../helpers/cuda/stand-in.ts';
import { workerOf } from './moved-workers.ts';

t.test('a driver that refuses moves is not asked again after a change of the pool', { skip: cudaSkip }, async (t) => {
  const cuda = await startCuda(t, { cards: { 'GPU-1': 16_384 } });
  const settings = { standbyMemoryGb: 64 };
  const memory = buildGpuMemory(settings, cuda.env, {
    onUnsupported: () => undefined,
    onMove: () => undefined,
    clock: systemClock,
    logger: createLogger('test', 'silent'),
  });
  t.teardown(() => memory.close());
  const gpus = [{ uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 16_384, migProfile: '', virtual: false }];
  await memory.check(gpus);
  t.equal(memory.fault, '');
  const { worker } = workerOf(await cuda.process(t, { 'GPU-1': 64 }));
  await cuda.fault('lock', { code: CUDA.NOT_SUPPORTED });
  const refused = await memory.offload(worker, false).catch((error: unknown) => error);
  t.match(refused, { failure: 'UNSUPPORTED' });
  const { fault } = memory;
  t.match(fault, /NOT_SUPPORTED/);
  settings.standbyMemoryGb = 0;
  await memory.check(gpus);
  t.match(memory.fault, /--standby-memory/);
  settings.standbyMemoryGb = 32;
  await memory.check(gpus);
  t.equal(memory.fault, fault);
});
