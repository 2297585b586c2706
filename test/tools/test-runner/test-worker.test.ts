// test: 10 s
/**
 * Test files that share a process: each has a test, a limit and an end of its own, and a failure of one is not the next
 * one's.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { systemClock } from '@slipway/kit/time/clock';
import { SpareProcessors } from '@slipway/tools/test-runner/spare-processors';
import { SharedProcess } from '@slipway/tools/test-runner/test-process';
import { TestResultReader } from '@slipway/tools/test-runner/test-results';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

/** `import t from 'tap'` is answered by the process that runs the file, wherever the file lies. */
const FILES = {
  'good.ts': `import t from 'tap'; import { seen } from './seen.ts';
    t.teardown(() => { seen.push('ended'); });
    t.test('a', async (t) => { t.same(seen, []); }); t.test('b', async (t) => { t.ok(process.pid); });`,
  'next.ts':
    "import t from 'tap'; import { seen } from './seen.ts'; t.test('c', async (t) => { t.same(seen, ['ended'], " +
    "'the process of the first'); });",
  'bad.ts':
    "import t from 'tap'; import { seen } from './seen.ts'; seen.push('bad'); t.test('d', async (t) => { t.ok(1); " +
    't.equal(1, 2); });',
  'fresh.ts':
    "import t from 'tap'; import { seen } from './seen.ts'; t.test('e', async (t) => { t.same(seen, [], " +
    "'a new process'); });",
  'crash.ts':
    "import t from 'tap'; t.test('f', async () => { process.kill(process.pid, 'SIGKILL'); await new " +
    'Promise(() => {}); });',
  'broken.ts': `import './nowhere.ts';`,
  'late.ts': `import t from 'tap'; import { seen } from './seen.ts'; seen.push('late'); t.test('h', async (t) => {
      setTimeout(() => { throw new Error('thrown late'); }, 1); await new Promise(() => {}); });
    t.test('i', async (t) => { t.ok(1); });`,
  'rejected.ts': `import t from 'tap'; t.test('j', async (t) => { t.ok(1);
      await t.test('inner', async (t) => { void Promise.reject(new Error('rejected'));
        await new Promise((resolve) => { setTimeout(resolve, 60_000); }); }); });`,
  'nobody.ts': `import t from 'tap'; import { AsyncResource } from 'node:async_hooks'; const top = new AsyncResource('top');
    t.test('k', async (t) => { t.ok(1); top.runInAsyncScope(() => setTimeout(() => { throw new Error('of nobody'); }, 1));
      await new Promise((resolve) => { process.once('uncaughtExceptionMonitor', resolve); }); });`,
  'open.ts':
    "import t from 'tap'; import { createServer } from 'node:net'; t.test('g', async (t) => { " +
    'createServer().listen(0); t.ok(1); });',
  'changing.ts': `import t from 'tap'; t.test('l', async (t) => { process.env.LEFT_BY_TEST = '1'; t.ok(1); });`,
  'unchanged.ts': `import t from 'tap'; t.test('m', async (t) => { t.equal(process.env.LEFT_BY_TEST, undefined); });`,
  'seen.ts': 'export const seen: string[] = [];',
};

t.test('files that share a process', async (t) => {
  const { path } = await scratch(t);
  mkdirSync(path('node_modules'));
  writeFileSync(path('package.json'), '{"type":"module"}');
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path(name), text);
  const shared = new SharedProcess(0, systemClock, 3_000);
  const run = async (name: string) => {
    const { lines, how } = await shared.run(path(name));
    const failures: string[] = [];
    const reader = new TestResultReader({ onFailure: (place) => failures.push(place) });
    reader.write(`${lines.join('\n')}\n`);
    const { passed, failed } = reader.end();
    return { how, passed, failed, failures };
  };
  t.same(await run('good.ts'), { how: 0, passed: 2, failed: 0, failures: [] });
  t.same(
    await run('next.ts'),
    { how: 0, passed: 1, failed: 0, failures: [] },
    'the next file comes after the teardown of the first',
  );
  t.same(await run('bad.ts'), { how: 1, passed: 1, failed: 1, failures: ['d > should be equal'] });
  t.same(
    await run('fresh.ts'),
    { how: 0, passed: 1, failed: 0, failures: [] },
    'a file that failed takes its process with it',
  );
  t.match(await run('crash.ts'), { how: 'SIGKILL', passed: 0 });
  t.match(await run('broken.ts'), { how: 1, passed: 0, failed: 1 }, 'a file that cannot be loaded');
  t.match(
    await run('late.ts'),
    { how: 1, passed: 1, failed: 1, failures: ['h > thrown late'] },
    'an error of a timer is that of its test',
  );
  t.match(
    await run('rejected.ts'),
    { how: 1, passed: 1, failed: 1, failures: ['j > inner > rejected'] },
    'a rejection that nobody awaits as well',
  );
  t.match(await run('nobody.ts'), { how: 1, passed: 1, failures: [/of nobody/] }, "an error of no test is the file's");
  t.match(await run('changing.ts'), {
    how: /^it left process\.env\.LEFT_BY_TEST changed: restore it, or declare/,
    passed: 1,
  });
  t.same(await run('unchanged.ts'), { how: 0, passed: 1, failed: 0, failures: [] }, 'a new process');
  t.same(await run('open.ts'), { how: 0, passed: 1, failed: 0, failures: [] });
  t.match(await shared.end(), /SIGKILL; open after the last file: .*TCPServerWrap/, 'what is left open fails the run');
  t.equal(await shared.end(), undefined);
});

t.test('one more file runs while processors idle, and each is checked anew', async (t) => {
  const clock = new ManualClock();
  let [idleMs, allMs] = [0, 0];
  const processors = new SpareProcessors(clock, () => ({ idleMs, allMs }));
  const went: string[] = [];
  let wanted = true;
  const ends = ['first', 'second', 'third'].map((name) => processors.free(() => wanted).then(() => went.push(name)));
  const period = async (idleShare: number): Promise<void> => {
    await settle();
    allMs += 6_000;
    idleMs += 6_000 * idleShare;
    clock.pass(3_000);
    await settle();
  };
  await period(0.15);
  t.same(went, [], 'they are busy');
  await period(0.5);
  t.same(went, ['first'], 'one at a time');
  await period(0);
  t.same(went, ['first'], 'it took what there was');
  await period(0.9);
  t.same(went, ['first', 'second']);
  wanted = false;
  await period(0);
  await Promise.all(ends);
  t.same(went, ['first', 'second', 'third'], 'nothing is left to run: nobody waits on');
});

t.test('a slot whose last file left processors idle continues at once', async (t) => {
  const clock = new ManualClock();
  let [idleMs, allMs] = [0, 0];
  const processors = new SpareProcessors(clock, () => ({ idleMs, allMs }));
  const admitted = await processors.free(() => false);
  [idleMs, allMs] = [400, 1_000];
  const again = await processors.free(() => true, admitted);
  t.same(again, { idleMs: 400, allMs: 1_000 });
  allMs += 1_000;
  let isAdmitted = false;
  const third = processors
    .free(() => true, again)
    .then(() => {
      isAdmitted = true;
    });
  await settle();
  t.equal(isAdmitted, false, 'its last file took all of them: it waits for a period');
  [idleMs, allMs] = [idleMs + 6_000, allMs + 6_000];
  clock.pass(3_000);
  await third;
});

/** Waits until the started work has reached its next wait. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
