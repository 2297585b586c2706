/** The order into which a service's base brings starts and stops. */

import { BaseService, StoppedError } from '@slipway/kit/lifecycle/service';
import t from 'tap';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

/** Records what happens to it, and continues only when the test lets it. */
class Slow extends BaseService {
  readonly name = 'slow';
  readonly log: string[] = [];
  readonly #gates: (() => void)[] = [];
  failing = false;

  get isRunning(): boolean {
    return this.running;
  }

  get signal(): AbortSignal {
    return this.ending;
  }

  /** Lets the step that waits go on. */
  async pass(): Promise<void> {
    await new Promise(setImmediate);
    this.#gates.shift()?.();
    await new Promise(setImmediate);
  }

  protected override async onStart(): Promise<void> {
    this.log.push('starting');
    await new Promise<void>((resolve) => {
      this.#gates.push(resolve);
    });
    if (this.failing) throw new Error('no');
    this.log.push('started');
  }

  protected override async onStop(): Promise<void> {
    this.log.push(`stopping${this.signal.aborted ? '' : ', but not told'}`);
    await new Promise<void>((resolve) => {
      this.#gates.push(resolve);
    });
    this.log.push('stopped');
  }
}

const WHOLE = ['starting', 'started', 'stopping', 'stopped'];

t.test('double starts and stops count once', async (t) => {
  const service = new Slow();
  t.same([service.isRunning, service.signal.aborted], [false, false]);
  await service.stop();
  t.same([service.log, service.signal.aborted], [[], false], 'a stop of what never ran is nothing');
  const starts = [service.start(), service.start()];
  await service.pass();
  await Promise.all(starts);
  await service.start();
  t.same([service.isRunning, service.signal.aborted], [true, false]);
  const stops = [service.stop(), service.stop()];
  t.same([service.isRunning, service.signal.aborted], [false, true]);
  await service.pass();
  await Promise.all(stops);
  await service.stop();
  t.same(service.log, WHOLE);
});

t.test('a stop during the start aborts and awaits it', async (t) => {
  const service = new Slow();
  const start = service.start();
  const refused = t.rejects(start, StoppedError);
  const stop = service.stop();
  t.ok(service.signal.aborted);
  t.same(service.log, ['starting']);
  await service.pass();
  await service.pass();
  await Promise.all([stop, refused]);
  t.same(service.log, WHOLE);
});

t.test('a start during a stop waits for its end, and is not aborted by it', async (t) => {
  const service = new Slow();
  const first = service.start();
  await service.pass();
  await first;
  const stop = service.stop();
  const second = service.start();
  t.ok(service.signal.aborted, 'what still ends must not believe that it may go on');
  await service.pass();
  await stop;
  await new Promise(setImmediate);
  t.same([service.signal.aborted, service.isRunning], [false, true]);
  await service.pass();
  await second;
  t.same(service.log, [...WHOLE, 'starting', 'started']);
});

t.test('a start superseded before it began never begins', async (t) => {
  const service = new Slow();
  const first = service.start();
  await service.pass();
  await first;
  const stops = [service.stop()];
  const overtaken = t.rejects(service.start(), StoppedError);
  stops.push(service.stop());
  await service.pass();
  await Promise.all([...stops, overtaken]);
  t.same(service.log, WHOLE);
});

t.test('a start that fails is cleaned up, and another may succeed', async (t) => {
  const service = new Slow();
  service.failing = true;
  const failed = t.rejects(service.start(), { message: 'no' });
  await service.pass();
  await service.pass();
  await failed;
  t.same(service.log, ['starting', 'stopping', 'stopped']);
  await service.stop();
  service.failing = false;
  const start = service.start();
  await service.pass();
  await start;
  t.same(service.log.slice(3), ['starting', 'started']);
});

t.test('calls in any order: starts and stops alternate, and the last call wins', async (t) => {
  const random = seededRandom();
  for (let round = 0; round < 200; round += 1) {
    const service = new Slow();
    let last = 'stop';
    const calls: Promise<unknown>[] = [];
    for (let step = 0; step < 20; step += 1) {
      const what = random.one(['start', 'stop', 'pass', 'turn'] as const);
      if (what === 'pass') await service.pass();
      else if (what === 'turn') await Promise.resolve();
      else {
        last = what;
        calls.push(
          service[what]().catch((error: unknown) => {
            if (!(error instanceof StoppedError)) throw error;
          }),
        );
      }
    }
    const done = Promise.all(calls);
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) await service.pass();
    await done;
    t.equal(service.isRunning, last === 'start');
    const begun = service.log.filter((step) => step !== 'started');
    const expected = Array.from({ length: begun.length }, (_, index) => ['starting', 'stopping', 'stopped'][index % 3]);
    if (!t.same(begun, expected)) return;
  }
});
