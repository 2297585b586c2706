/** Restores wait until their cards have enough free memory, which the driver's stand-in counts. */
import t from 'tap';
import { cudaSkip, MIB, startCuda } from '../../helpers/cuda/stand-in.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { setUp, workerOf } from './moved-workers.ts';

t.setTimeout(300_000);

/** Memory of a worker that held none. */
const NOTHING = { pids: [], cards: [] };

t.test('restores wait for room', { skip: cudaSkip }, async (t) => {
  const cuda = await startCuda(t, { cards: { 'GPU-1': 16_384 } });

  t.test('without space on its card nothing is restored', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    const { worker } = workerOf(await cuda.process(t, { 'GPU-1': 12_000 }));
    const { memory } = await mover.offload(worker, false);
    const other = await cuda.process(t, { 'GPU-1': 12_000 });
    const restored = mover.restore(worker, memory).catch((error: unknown) => error);
    let failure: unknown;
    void restored.then((error) => {
      failure = error;
    });
    await waitFor('its patience to end', () => {
      clock.pass(11_000);
      return failure;
    });
    t.match(failure, {
      failure: 'NOT_ENOUGH_GPU_MEMORY',
      message: /11\.7 GiB of GPU-1, which has 4\.3 GiB free/,
    });
    t.notMatch(await cuda.calls(), ['restore']);
    await other.kill();
    t.ok(await mover.restore(worker, memory), 'it is whole: the driver was not asked');
  });

  t.test('two restores at once do not share the free memory of a card', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    const first = await cuda.process(t, { 'GPU-1': 10_000 });
    const { memory } = await mover.offload(workerOf(first).worker, false);
    const other = await cuda.process(t, { 'GPU-1': 10_000 });
    const { memory: otherMemory } = await mover.offload(workerOf(other).worker, false);
    await cuda.pace(0, 100);
    const results: unknown[] = [];
    void mover.restore(workerOf(first).worker, memory).then((result) => results.push(result));
    void mover.restore(workerOf(other).worker, otherMemory).catch((error: unknown) => results.push(error));
    await waitFor('the first to end', () => results.length === 1);
    await cuda.pace(0, 0);
    await waitFor('the other one to give up', () => {
      clock.pass(11_000);
      return results.length === 2;
    });
    t.match(results, [{ bytes: 10_000 * MIB }, { failure: 'NOT_ENOUGH_GPU_MEMORY' }]);
    await first.kill();
    t.ok(await mover.restore(workerOf(other).worker, otherMemory), 'it is whole: the driver was not asked');
  });

  t.test('a restore whose processes cannot be read keeps no memory of its card', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    const { worker } = workerOf(await cuda.process(t, { 'GPU-1': 12_000 }));
    const { memory } = await mover.offload(worker, false);
    const other = await cuda.process(t, { 'GPU-1': 12_000 });
    const unread = { ...worker, pids: () => Promise.reject(new Error('EMFILE')) };
    const reader = { ...worker, id: 'reader', thaw: async () => undefined };
    let failure: unknown;
    void mover.restore(unread, memory).catch((error: unknown) => {
      failure = error;
    });
    // It reads the card while there is no room, and again once there is.
    await mover.restore(reader, NOTHING);
    await other.kill();
    clock.pass(200);
    await mover.restore(reader, NOTHING);
    await waitFor('it to fail', () => failure);
    t.match(failure, { message: 'EMFILE' });
    const later = { ...worker, id: 'later' };
    let restored: unknown;
    void mover.restore(later, memory).then((moved) => {
      restored = moved;
    });
    await waitFor('the next one on that card', () => {
      clock.pass(100);
      return restored;
    });
    t.match(restored, { bytes: 12_000 * MIB });
  });

  t.test('a restore that never ends does not hold up others of its card for ever', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    const stuck = workerOf(await cuda.process(t, { 'GPU-1': 10_000 }));
    const { memory } = await mover.offload(stuck.worker, false);
    const other = workerOf(await cuda.process(t, { 'GPU-1': 10_000 }));
    const { memory: otherMemory } = await mover.offload(other.worker, false);
    const thawing = Promise.withResolvers<void>();
    const thaws = Promise.withResolvers<void>();
    const stuckRestore = mover.restore({ ...stuck.worker, thaw: () => (thaws.resolve(), thawing.promise) }, memory);
    await thaws.promise;
    let failure: unknown;
    void mover.restore(other.worker, otherMemory).catch((error: unknown) => {
      failure = error;
    });
    await waitFor('the other one to give up', () => {
      clock.pass(9_000);
      return failure;
    });
    t.match(failure, { failure: 'NOT_ENOUGH_GPU_MEMORY' });
    await stuck.worker.thaw();
    thawing.resolve();
    t.match(await stuckRestore, { bytes: 10_000 * MIB });
  });

  t.test('what the driver keeps of its card for itself is not free', async (t) => {
    const clock = new ManualClock();
    const { mover } = await setUp(t, cuda, { clock });
    await cuda.reserve(600);
    const { worker } = workerOf(await cuda.process(t, { 'GPU-1': 12_000 }));
    const { memory } = await mover.offload(worker, false);
    const other = await cuda.process(t, { 'GPU-1': 3_800 });
    let failure: unknown;
    void mover.restore(worker, memory).catch((error: unknown) => {
      failure = error;
    });
    await waitFor('its patience to end', () => {
      clock.pass(11_000);
      return failure;
    });
    t.match(failure, { failure: 'NOT_ENOUGH_GPU_MEMORY', message: /11\.7 GiB of GPU-1, which has 11\.7 GiB free/ });
    t.notMatch(await cuda.calls(), ['restore'], 'a restore would have damaged it');
    await other.kill();
    await mover.restore(worker, memory);
    await cuda.reserve(0);
  });
});
