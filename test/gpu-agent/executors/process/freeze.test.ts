// test: alone, python
/** Processes that are frozen and thawed. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { PYTHONS, skipWithoutPython } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { groupMembers, linuxOnly, start } from './start-process.ts';

/** Starts a program by vfork, which is stopped before it begins: until it does, its parent waits in the kernel. */
const STOPPED_START = `
import ctypes, os, platform, signal, time
CLONE_VFORK = 0x4000
clone = {'x86_64': 56, 'aarch64': 220}[platform.machine()]
print(os.getpid(), flush=True)
if ctypes.CDLL(None).syscall(clone, CLONE_VFORK | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os.execv('/bin/true', ['true'])
print('begun', flush=True)
while True:
    time.sleep(1)
`;

t.test('frozen: no process runs, its guard keeps watching, and it resumes', linuxOnly, async (t) => {
  const script =
    'sh -c "while :; do echo child; sleep 0.01; done" & echo $$; i=0; while :; do i=$((i+1)); echo ' +
    '$i; sleep 0.01; done';
  const { worker, output } = start(['sh', '-c', script]);
  const group = Number((await waitFor('its number', () => /\d+\n/.exec(output())?.[0]))!.trim());
  const states = () =>
    groupMembers(group).map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '')[0]);
  await worker.freeze();
  t.equal(states().filter((state) => state !== 'T').length, 1, 'only the guard');
  // After this tick all output that was still in the pipe has been read.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  const before = output().length;
  await Promise.all(Array.from({ length: 20 }, () => worker.freeze()));
  t.equal(output().length, before, 'no word meanwhile');
  await worker.thaw();
  await waitFor('the next words', () => output().length > before);
  await worker.freeze();
  worker.stop();
  t.equal((await worker.ended).signal, 'SIGTERM', 'a frozen one can be asked to end');
  await waitFor('the group to be empty', () => groupMembers(group).length === 0);
  await worker.freeze();
  await worker.thaw();
});

t.test('asked to end while it is being frozen, it handles the signal', linuxOnly, async (t) => {
  const { worker, output } = start([
    'sh',
    '-c',
    'trap "sleep 0.2; exit 7" TERM; echo ready; while :; do sleep 0.02; done',
  ]);
  t.teardown(() => worker.kill());
  await waitFor('ready', () => output().includes('ready'));
  let code: number | undefined;
  void worker.ended.then((exit) => {
    code = exit.code;
  });
  const frozen = worker.freeze();
  worker.stop();
  await frozen;
  t.equal(await waitFor('its end', () => code), 7);
});

t.test('frozen during vfork, when its parent cannot be stopped yet', { skip: skipWithoutPython('new') }, async (t) => {
  const { worker, output } = start([PYTHONS.new, '-c', STOPPED_START]);
  t.teardown(() => worker.kill());
  const pid = await waitFor('its number', () => Number(/^(\d+)\n/.exec(output())?.[1]));
  const stateOf = () => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '')[0];
  await waitFor('it to wait in the kernel', () => stateOf() === 'D');
  await worker.freeze();
  t.equal(stateOf(), 'T');
  t.notMatch(output(), /begun/);
  await worker.thaw();
  await waitFor('it to go on', () => /begun/.test(output()));
});
