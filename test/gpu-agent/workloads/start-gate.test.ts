/** The gate that lets workloads start a few at a time. */

import { StartGate } from '@slipway/gpu-agent/workloads/start-gate';
import fc from 'fast-check';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { SEED } from '../../helpers/time/seeded-random.ts';
import { turn } from '../attempts/wired.ts';

const never = new AbortController().signal;

/** Asks for places; `entered` has who may start, in order. */
function ask(gate: StartGate, ids: readonly string[], { asks = true, signal = never } = {}): string[] {
  const entered: string[] = [];
  for (const id of ids) void gate.enter(id, asks, signal).then(() => entered.push(id));
  return entered;
}

t.test('first come, first served, with bounded concurrency', async (t) => {
  const gate = new StartGate(2, new ManualClock());
  const entered = ask(gate, ['a', 'b', 'c', 'd']);
  await turn();
  t.same(entered, ['a', 'b']);
  t.ok(gate.isFull);
  gate.leave('b');
  gate.leave('b');
  await turn();
  t.same(entered, ['a', 'b', 'c'], 'leaving twice frees one place');
});

t.test('a slow start delays no other: 10 s if it will ask for work, else 2', async (t) => {
  for (const [asks, ms] of [
    [true, 10_000],
    [false, 2_000],
  ] as const) {
    const clock = new ManualClock();
    const entered = ask(new StartGate(1, clock), ['a', 'b'], { asks });
    clock.pass(ms - 1);
    await turn();
    t.same(entered, ['a']);
    clock.pass(1);
    await turn();
    t.same(entered, ['a', 'b']);
  }
});

t.test('a cancelled start takes no slot', async (t) => {
  const gate = new StartGate(1, new ManualClock());
  const over = new AbortController();
  ask(gate, ['a']);
  const gone = ask(gate, ['b'], { signal: over.signal });
  const next = ask(gate, ['c']);
  over.abort();
  await turn();
  t.same(gone, ['b'], 'it is answered at once');
  gate.leave('a');
  await turn();
  t.same(next, ['c']);
  t.same(ask(gate, ['d'], { signal: over.signal }), []);
});

t.test('random order: never more starts than slots, and every start gets one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(20), { maxLength: 40 }),
      async (permits, leaving) => {
        const gate = new StartGate(permits, new ManualClock());
        const ids = Array.from({ length: 12 }, (_, n) => `workload-${n}`);
        const entered = ask(gate, ids);
        const left = new Set<string>();
        const leave = async (id: string): Promise<void> => {
          if (entered.includes(id)) left.add(id);
          gate.leave(id);
          await turn();
          if (entered.length - left.size > permits)
            throw new Error(`${entered.length - left.size} hold ${permits} places`);
        };
        await turn();
        for (const n of leaving) await leave(ids[n % ids.length]!);
        for (const id of ids) await leave(id);
        if (entered.length !== ids.length) throw new Error(`${entered.length} of ${ids.length} entered`);
      },
    ),
    { seed: SEED },
  );
});
