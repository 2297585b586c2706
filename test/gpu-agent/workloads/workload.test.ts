/** The driver of workers and pods, with workloads that end when the test says so. */

import { GpuHandover } from '@slipway/gpu-agent/launch/gpu-handover';
import { StartGate } from '@slipway/gpu-agent/workloads/start-gate';
import type { Want } from '@slipway/gpu-agent/workloads/step';
import { isLive } from '@slipway/gpu-agent/workloads/step';
import fc from 'fast-check';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { SEED } from '../../helpers/time/seeded-random.ts';
import { turn } from '../attempts/wired.ts';
import { ScriptedExecutor } from '../scripted-executor.ts';
import { makeWorkload, POD, WORKER, want } from './make-workload.ts';

t.test('a workload waits until a starting one has asked for work, has ended, or is cancelled', async (t) => {
  const starts = new StartGate(1, new ManualClock());
  const make = (id: string) => makeWorkload(WORKER, { id, starts });
  const [first, second, third, fourth] = [make('a'), make('b'), make('c'), make('d')];
  const phases = async (): Promise<string[]> => {
    await turn();
    return [first, second, third, fourth].map(({ workload }) => workload.observed.phase);
  };
  for (const { workload } of [first, second, third, fourth]) workload.evaluate();
  t.same(await phases(), ['running', 'preparing', 'preparing', 'preparing']);
  t.match(second.workload.progress, /waiting for others to start/);
  second.workload.want(want('absent'));
  first.workload.asked();
  t.same(await phases(), ['running', 'removed', 'running', 'preparing']);
  third.executor.starts[0]!.exit({ code: 1, signal: undefined });
  t.equal((await phases())[3], 'running');
  t.equal(second.executor.starts.length, 0);
});

t.test('a worker is started, stopped, killed if it does not end, and removed', async (t) => {
  const { workload, executor, clock, seen, errors } = makeWorkload(WORKER);
  workload.evaluate();
  await turn();
  t.equal(workload.observed.phase, 'running');
  workload.asked();
  workload.want(want('draining'));
  t.same(executor.starts[0]!.asked, ['stop'], 'at once: it holds nothing');
  clock.pass(5_000);
  workload.evaluate();
  t.same(executor.starts[0]!.asked, ['stop']);
  clock.pass(1);
  workload.evaluate();
  await workload.done;
  t.same(executor.starts[0]!.asked, ['stop', 'kill']);
  t.match(
    { ...seen, starts: executor.starts.length, errors },
    { exits: [{ signal: 'SIGKILL' }], removed: 1, starts: 1, errors: [] },
  );
  workload.want(want('running'));
  await turn();
  t.equal(executor.starts.length, 1, 'an ended worker stays ended');
});

t.test('a preparation reports progress, and ends when cancelled', async (t) => {
  const { workload, executor, clock, seen } = makeWorkload(WORKER);
  executor.preparing = (progress, signal) =>
    new Promise((_, reject) => {
      progress('pulling: 10 %');
      progress('pulling: 20 %');
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  workload.evaluate();
  await turn();
  t.equal(workload.progress, 'pulling: 10 %', 'at once');
  clock.pass(1_000);
  t.equal(workload.progress, 'pulling: 20 %', 'and at most once a second');
  t.equal(workload.log.tail(100).toString(), 'pulling: 10 %\npulling: 20 %\n');
  workload.want(want('absent'));
  await workload.done;
  t.equal(workload.progress, '');
  t.same([executor.starts.length, seen.exits[0]?.failure], [0, 'it was not wanted any more']);
  t.same(workload.log.kept().bytes.toString().split('\n').slice(0, 3), [
    'pulling: 10 %',
    'pulling: 20 %',
    'Its preparation ends: it is not wanted any more.',
  ]);
});

t.test('an executor that throws at the start ends the workload, not the agent', async (t) => {
  const { workload, executor, seen } = makeWorkload(WORKER);
  executor.start = () => {
    throw new Error('it was not prepared');
  };
  workload.evaluate();
  await workload.done;
  t.match(seen, { exits: [{ failure: 'it was not prepared' }], removed: 1 });
});

t.test('a running workload is adopted, not started', async (t) => {
  const executor = new ScriptedExecutor();
  const first = makeWorkload(WORKER, { executor });
  first.workload.evaluate();
  await turn();
  executor.leftovers.set('workload', executor.starts[0]!);
  const { workload } = makeWorkload(WORKER, { executor });
  workload.evaluate();
  await turn();
  t.same([workload.observed.phase, executor.starts.length], ['running', 1]);
  executor.leftovers.get('workload')!.exit({ code: 3 });
  await workload.done;
});

t.test('it is frozen and resumed, and ended if that fails', async (t) => {
  const { workload, executor, seen, clock } = makeWorkload(WORKER);
  workload.evaluate();
  await turn();
  const { asked } = executor.starts[0]!;
  workload.asked();
  seen.busy = true;
  workload.want(want('standby'));
  t.same(asked, [], 'not while it holds something');
  seen.busy = false;
  workload.evaluate();
  await turn();
  t.equal(workload.observed.phase, 'frozen');
  workload.want(want('running'));
  t.same([asked, workload.observed.phase], [['freeze', 'thaw'], 'running']);
  executor.freezing = () => Promise.reject(new Error('not here'));
  workload.want(want('standby'));
  await turn();
  t.equal(workload.observed.phase, 'running', 'it goes on');
  workload.evaluate();
  t.equal(asked.length, 3, 'and is not asked again at once');
  clock.pass(5_000);
  workload.evaluate();
  t.equal(asked.length, 4);
});

t.test('a pod is restarted with a growing back-off, and not if it cannot run', async (t) => {
  const { workload, executor, clock, seen } = makeWorkload(POD);
  workload.evaluate();
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    await turn();
    const starts = executor.starts.length;
    executor.starts.at(-1)!.exit({ code: 1 });
    await turn();
    clock.pass(pauseMs - 1);
    workload.evaluate();
    t.equal(executor.starts.length, starts, 'not yet');
    clock.pass(1);
    workload.evaluate();
    await turn();
    t.equal(executor.starts.length, starts + 1);
  }
  workload.want(want('running', 1));
  t.same(executor.starts.at(-1)!.asked, ['stop'], 'another run takes its place');
  executor.starts.at(-1)!.exit({ code: 0 });
  await turn();
  t.equal(workload.observed.made?.run, 1);
  workload.want(want('shutdown'));
  executor.starts.at(-1)!.exit();
  await workload.done;
  t.same([seen.cleaned, seen.removed], [[undefined], 0], 'when the agent stops its files stay');
});

t.test('two workloads never share a GPU', async (t) => {
  const handover = new GpuHandover();
  const [leaves, comes] = [makeWorkload(POD, { handover, id: 'leaves' }), makeWorkload(POD, { handover, id: 'comes' })];
  leaves.workload.evaluate();
  await turn();
  leaves.workload.want(want('absent'));
  comes.workload.evaluate();
  await turn();
  t.equal(comes.executor.starts.length, 0, "it waits for the other's end");
  leaves.executor.starts[0]!.exit();
  await turn();
  t.equal(comes.executor.starts.length, 1);
});

t.test('a GPU is not free because one that waited for it was cancelled', async (t) => {
  const handover = new GpuHandover();
  const make = (id: string) => makeWorkload(POD, { handover, id });
  const [leaves, cancelled, comes] = [make('leaves'), make('cancelled'), make('comes')];
  leaves.workload.evaluate();
  await turn();
  leaves.workload.want(want('absent'));
  cancelled.workload.evaluate();
  await turn();
  cancelled.workload.want(want('absent'));
  await cancelled.workload.done;
  comes.workload.evaluate();
  await turn();
  t.same([cancelled.executor.starts.length, comes.executor.starts.length], [0, 0], 'the first still runs');
  leaves.executor.starts[0]!.exit();
  await turn();
  t.equal(comes.executor.starts.length, 1);
});

const events = fc.oneof(
  fc.record({
    want: fc.constantFrom<Want>('running', 'standby', 'draining', 'absent', 'stopped'),
    run: fc.integer({ min: 0, max: 1 }),
  }),
  fc.constantFrom(
    'asked' as const,
    'busy' as const,
    'idle' as const,
    'exit' as const,
    'kill' as const,
    'fail' as const,
    'mend' as const,
  ),
  fc.record({ passMs: fc.integer({ min: 1, max: 10_000 }) }),
);

for (const policy of [WORKER, POD]) {
  t.test(
    'whatever happens, one start at a time, no step back, and nothing runs once it is gone: ' +
      `${policy === POD ? 'pod' : 'worker'}`,
    async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(events, { maxLength: 30 }), async (list) => {
          const { workload, executor, clock, seen, errors } = makeWorkload(policy);
          workload.evaluate();
          const isLegal = (event: (typeof list)[number]): boolean =>
            typeof event === 'string' ||
            !('want' in event) ||
            (policy === POD ? !['standby', 'draining'].includes(event.want) : event.want !== 'stopped');
          for (const event of list.filter(isLegal)) {
            if (event === 'asked') workload.asked();
            else if (event === 'busy' || event === 'idle') seen.busy = event === 'busy' && policy === WORKER;
            else if (event === 'exit') executor.starts.at(-1)?.exit({ code: 1 });
            else if (event === 'kill') workload.requestEnd(policy === WORKER ? 'kill' : 'stop');
            else if (event === 'fail' || event === 'mend')
              seen.launchFails = event === 'fail' ? new Error('no folder') : undefined;
            else if ('passMs' in event) clock.pass(event.passMs);
            else workload.want(want(event.want, policy === POD ? event.run : 0));
            workload.evaluate();
            await turn();
            const ended = seen.exits.length;
            if (policy === WORKER && executor.starts.length > 1) return false;
            if (policy === WORKER && ended > 1) return false;
          }
          seen.launchFails = undefined;
          workload.want(want('absent'));
          for (let i = 0; i < 5; i += 1) {
            executor.starts.at(-1)?.exit();
            await turn();
            clock.pass(60_000);
            workload.evaluate();
          }
          await workload.done;
          return !isLive(workload.observed.phase) && workload.observed.phase === 'removed' && errors.length === 0;
        }),
        { seed: SEED, numRuns: 150 },
      );
      t.pass();
    },
  );
}
