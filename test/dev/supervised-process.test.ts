/** A supervised process: back after a kill, gone after a stop, and clear words when it does not come up. */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { ProcessLog, ROTATE_BYTES } from '@slipway/dev/processes/process-log';
import type { ProcessPlan } from '@slipway/dev/processes/supervised-process';
import { SupervisedProcess } from '@slipway/dev/processes/supervised-process';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { isAlive, scratch } from '../helpers/scratch.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const READY = 'process.send("ready");';
const IDLE = 'setInterval(() => {}, 1000);';

async function supervise(t: Test, script: string, more: Partial<ProcessPlan<string>> = {}, clock = systemClock) {
  const { path } = await scratch(t);
  const events: string[] = [];
  const children: ChildProcess[] = [];
  const plan: ProcessPlan<string> = {
    name: 'thing',
    log: new ProcessLog(path('thing.log')),
    readyMsMax: 10_000,
    spawn: (output) => {
      const child = spawn(process.execPath, ['-e', script], {
        detached: true,
        stdio: ['ignore', output, output, 'ipc'],
      });
      children.push(child);
      return child;
    },
    whenReady: async (child) => String((await once(child, 'message'))[0]),
    ...more,
  };
  const supervised = new SupervisedProcess(plan, {
    clock,
    random: systemRandom,
    onEnded: (name, how) => events.push(`${name} ended: ${how}`),
    onSlowStart: (name, _seconds, line) => events.push(`${name} still starts: ${line}`),
    onRestarted: (name) => events.push(`${name} is back`),
  });
  t.teardown(() => supervised.stop());
  return { supervised, events, children };
}

t.test('a killed process is started again', async (t) => {
  const { supervised, events, children } = await supervise(t, READY + IDLE);
  t.equal(await supervised.start(), 'ready');
  for (const round of [1, 2]) {
    process.kill(children.at(-1)!.pid!, 'SIGKILL');
    await waitFor('the next one', () => events.length === 2 * round);
  }
  t.same(events, ['thing ended: SIGKILL', 'thing is back', 'thing ended: SIGKILL', 'thing is back']);
  await supervised.stop();
  t.equal(children.length, 3);
  t.notOk(
    children.some((child) => isAlive(child.pid!)),
    'after a stop nothing is left',
  );
});

t.test('its log is bounded while it runs, and its last lines stay known', async (t) => {
  const { path } = await scratch(t);
  const file = path('thing.log');
  const script = `${READY} process.on('message', () => {
    for (let i = 0; i < 20_000; i += 1) require('fs').writeSync(1, 'x'.repeat(999) + '\\n');
    process.send('written');
  });`;
  const quick = { ...systemClock, after: (ms: number, fn: () => void) => systemClock.after(ms / 50, fn) };
  const { supervised, children } = await supervise(
    t,
    script,
    { log: new ProcessLog(file), readyMsMax: 500_000 },
    quick,
  );
  await supervised.start();
  for (let round = 0; round < 3; round += 1) {
    const written = once(children[0]!, 'message');
    children[0]!.send('write');
    await written;
    await waitFor('it to be put aside', () => statSync(file).size <= ROTATE_BYTES);
    t.ok(statSync(`${file}.old`).size > ROTATE_BYTES);
  }
  children[0]!.kill('SIGKILL');
});

t.test('an unexpected exit is reported with the last line about it', async (t) => {
  const end = 'setTimeout(() => process.exit(3), 50);';
  const script = `${READY} console.error('Error: disk is full'); console.error('bye'); ${end}`;
  const { supervised, events } = await supervise(t, script);
  await supervised.start();
  await waitFor('its return', () => events.length >= 2);
  t.same(events.slice(0, 2), ['thing ended: code 3: Error: disk is full', 'thing is back']);
  await supervised.stop();
  let ready = true;
  const failing = await supervise(t, '', {
    spawn: (output) =>
      spawn(
        process.execPath,
        ['-e', `${ready ? READY : ''} console.log('one'); console.log('two'); process.exitCode = 4;`],
        {
          stdio: ['ignore', output, output, 'ipc'],
        },
      ),
  });
  await failing.supervised.start();
  ready = false;
  await waitFor('a start that failed', () => failing.events.some((event) => event.includes('before')));
  t.ok(failing.events.includes('thing ended: ended with code 4 before it was ready: two'), 'in one line');
});

t.test('a process that never becomes ready', async (t) => {
  const { supervised, children } = await supervise(t, 'console.error("no disk"); process.exit(3);');
  await t.rejects(supervised.start(), { message: /thing ended with code 3 before it was ready[\s\S]*no disk/ });
  t.equal(children.length, 1);
  const retried = await supervise(t, 'process.exit(3);', { triesAgain: (failures) => failures < 2 });
  await t.rejects(retried.supervised.start(), { message: /code 3/ });
  t.equal(retried.children.length, 2, 'as often as the plan says');
  const explained = await supervise(t, 'process.exit(3);', {
    triesAgain: () => {
      throw new Error('the cable is out');
    },
  });
  await t.rejects(
    explained.supervised.start(),
    { message: 'the cable is out' },
    'with the error that the plan has for it',
  );
  const slow = await supervise(t, IDLE, { readyMsMax: 50 });
  await t.rejects(slow.supervised.start(), {
    message: /was not ready after [\d.]+ s, and has done nothing for 0.05 s/,
  });
  t.notOk(isAlive(slow.children[0]!.pid!), 'and it is ended');
});

t.test('a start takes as long as it makes progress, and says so', async (t) => {
  const work = `const used = () => { const { user, system } = process.cpuUsage(); return user + system; };
    while (used() < 1_500_000);`;
  const busy = await supervise(t, `console.log("migrating");${work}${READY}${IDLE}`, { readyMsMax: 2_000 });
  await busy.supervised.start();
  t.ok(
    busy.events.some((event) => /^thing still starts: migrating/.test(event)),
    busy.events.join('\n'),
  );
});

t.test('a program that is missing', async (t) => {
  const { supervised } = await supervise(t, '', {
    spawn: () => spawn('/nowhere/program', { stdio: 'ignore' }),
    whenReady: () => new Promise(() => {}),
  });
  await t.rejects(supervised.start(), { message: /ENOENT/ });
});

t.test('stopping at any moment', async (t) => {
  const early = await supervise(t, READY + IDLE);
  await early.supervised.stop();
  await t.rejects(early.supervised.start(), 'a stopped one does not start');
  t.notOk(early.children.some((child) => isAlive(child.pid!)));
  const starting = await supervise(t, IDLE);
  const started = starting.supervised.start().then(
    () => 'started',
    () => 'gave up',
  );
  await waitFor('the child', () => starting.children.length === 1);
  await Promise.all([starting.supervised.stop(), starting.supervised.stop()]);
  t.equal(await started, 'gave up');
  t.notOk(isAlive(starting.children[0]!.pid!));
});

t.test('the signal that the plan names', async (t) => {
  const script = `process.on('SIGINT', () => process.exit(7)); ${READY}${IDLE}`;
  const { supervised, children } = await supervise(t, script, { stopSignal: 'SIGINT' });
  await supervised.start();
  await supervised.stop();
  t.equal(children[0]!.exitCode, 7);
});
