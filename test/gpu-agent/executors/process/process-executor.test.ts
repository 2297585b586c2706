// test: alone, python
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RunningWorkload, WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import type { HelperFailure } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { PYTHONS, skipWithoutPython } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const run = promisify(execFile);
const executor = new ProcessExecutor(systemClock, () => 'machine');
/** Fields that these workloads do not need. */
const PLAIN = {
  workloadId: 'w',
  user: undefined,
  entrypoint: [],
  image: undefined,
  mounts: [],
  gpus: [],
  limits: NO_LIMITS,
};
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
const PATH = process.env.PATH ?? '/usr/bin:/bin';

/** Starts a worker. Returns it with its output so far. */
function start(command: string[], env: Record<string, string> = {}): { worker: RunningWorkload; output: () => string } {
  let text = '';
  const worker = executor.start({
    ...PLAIN,
    command,
    workingDirectory: '/',
    env: { PATH, ...env },
    onOutput: (bytes) => {
      text += String(bytes);
    },
  });
  return { worker, output: () => text };
}

/** Processes of a group, by /proc. */
function groupMembers(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /, '')
          .split(' ');
        return fields[0] !== 'Z' && Number(fields[2]) === group;
      } catch {
        return false;
      }
    });
}

const linuxOnly = { skip: process.platform === 'linux' ? false : 'reads /proc' };

t.test('exit code, signal and output', async (t) => {
  const failed = start(['sh', '-c', 'echo out; echo err >&2; exit 3']);
  t.same(await failed.worker.ended, { code: 3, signal: undefined, failure: undefined });
  t.same(failed.output().split('\n').sort(), ['', 'err', 'out']);

  const killed = start(['sh', '-c', 'kill -9 $$']);
  t.same(await killed.worker.ended, { code: undefined, signal: 'SIGKILL', failure: undefined });
});

t.test('arguments and environment arrive as they are', async (t) => {
  // Its neighbours cannot be named here: tap adds variables of its own to every process.
  process.env.SLIPWAY_TEST_SECRET = 'secret';
  const script =
    'process.stdout.write(JSON.stringify([process.argv.slice(1), Object.keys(process.env), process.env.ID]))';
  const { worker, output } = start([process.execPath, '-e', script, 'a b', '$HOME', '"\''], { ID: '$RUNPOD_POD_ID' });
  await worker.ended;
  const [args, names, id] = JSON.parse(output()) as [string[], string[], string];
  t.same(args, ['a b', '$HOME', '"\'']);
  t.equal(id, '$RUNPOD_POD_ID');
  t.notOk(names.includes('SLIPWAY_TEST_SECRET'), 'nothing is inherited');
});

t.test('variables with names no shell accepts arrive, without traces of their transport', async (t) => {
  const env = { 'lower.dot': '1', 'with-dash': 'a b\n$HOME "\'', PLAIN: '3', 'LD_A.B': '' };
  const { worker, output } = start(
    [process.execPath, '-p', 'JSON.stringify([process.env, process.argv.slice(1)])', 'x', '--y=z'],
    env,
  );
  await worker.ended;
  const [seen, args] = JSON.parse(output()) as [Record<string, string>, string[]];
  t.match(seen, env);
  t.same(args, ['x', '--y=z']);
  t.same(
    Object.keys(seen).filter((name) => name.startsWith('SLIPWAY_CARRIED')),
    [],
  );
});

t.test('a failed start has its reason', async (t) => {
  const missing = start(['/nonexistent/program']);
  t.equal((await missing.worker.ended).code, 127);
  t.match(missing.output(), /not found|No such file/);
  const nowhere = executor.start({
    ...PLAIN,
    command: ['true'],
    workingDirectory: '/nonexistent',
    env: { PATH },
    onOutput: () => {},
  });
  t.match((await nowhere.ended).failure, /ENOENT/);
  nowhere.stop();
  nowhere.kill();
});

t.test('a start refused by the system ends its workload, not the agent', linuxOnly, async (t) => {
  const large = 'x'.repeat(200_000);
  const all = Object.fromEntries(Array.from({ length: 300 }, (_, number) => [`A${number}`, 'x'.repeat(10_000)]));
  for (const { failure, ...more } of [
    { command: ['echo', large], failure: /below 128 KiB.*E2BIG/ },
    { env: { A: large }, failure: /below 128 KiB.*E2BIG/ },
    { env: all, failure: /below 128 KiB.*E2BIG/ },
    { workingDirectory: '/etc/passwd', failure: /working directory \/etc\/passwd .*ENOTDIR/ },
    { workingDirectory: `/${'x'.repeat(300)}`, failure: /working directory .*ENAMETOOLONG/ },
    { env: { A: 'a\0b' }, failure: /null bytes/ },
  ]) {
    const workload = executor.start({
      ...PLAIN,
      command: ['true'],
      workingDirectory: '/',
      env: { PATH },
      onOutput: () => {},
      ...more,
    });
    t.match((await workload.ended).failure, failure);
    workload.stop();
    workload.kill();
  }
});

t.test('stop is a request, kill is not', async (t) => {
  const polite = start(['sh', '-c', 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done']);
  await waitFor('ready', () => polite.output().includes('ready'));
  polite.worker.stop();
  t.same(await polite.worker.ended, { code: 0, signal: undefined, failure: undefined });
  t.match(polite.output(), /bye/);

  const deaf = start(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
  await waitFor('ready', () => deaf.output().includes('ready'));
  deaf.worker.stop();
  deaf.worker.kill();
  t.equal((await deaf.worker.ended).signal, 'SIGKILL');
});

t.test('nothing remains of an ended worker: neither its children nor the guard', linuxOnly, async (t) => {
  const { worker, output } = start(['sh', '-c', 'sleep 1000 & echo $$; sleep 0.2']);
  const group = Number(await waitFor('its number', () => output().trim()));
  t.equal(groupMembers(group).length >= 3, true, 'the worker, its child and the guard');
  t.equal((await worker.ended).code, 0);
  await waitFor('the group to be empty', () => groupMembers(group).length === 0);
});

t.test('nor processes that left its group, with their children', linuxOnly, async (t) => {
  const daemon = 'setsid sh -c "sleep 1000 & echo \\$! \\$\\$; exec sleep 1000"';
  const { worker, output } = start(['sh', '-c', `${daemon} & ${daemon} & sleep 0.5`]);
  const other = executor.start({
    ...PLAIN,
    workloadId: 'other',
    command: ['sleep', '1000'],
    workingDirectory: '/',
    env: { PATH },
    onOutput: () => {},
  });
  t.teardown(() => other.kill());
  const pids = (await waitFor('their numbers', () => /^(?:\d+ \d+\n){2}$/.exec(output())?.[0]))!.trim().split(/\s+/);
  t.equal(pids.filter((pid) => existsSync(`/proc/${pid}`)).length, 4);
  worker.kill();
  await worker.ended;
  const runs = (pid: string): boolean =>
    existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  t.same(pids.filter(runs), []);
  const isOver = await Promise.race([
    other.ended.then(() => true),
    new Promise((resolve) => {
      setImmediate(resolve, false);
    }),
  ]);
  t.equal(isOver, false, 'another workload goes on');
});

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

t.test(
  'an agent without a free file descriptor goes on: what it would have started has the reason',
  linuxOnly,
  async (t) => {
    const script = 'ulimit -n 128 && exec "$0" "$1"';
    const { stdout } = await run('/bin/sh', [
      '-c',
      script,
      process.execPath,
      join(import.meta.dirname, 'out-of-files.ts'),
    ]);
    const [exit, failure] = JSON.parse(stdout) as [WorkloadExit, HelperFailure];
    t.match(exit.failure, /too many open files .*LimitNOFILE/);
    t.match(failure, { kind: 'failed', text: /EMFILE/ });
  },
);

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

for (const uid of process.getuid!() === 0 ? [0, 2_000_000_003] : [0]) {
  t.test(
    `no worker outlives an agent that was killed with -9${uid === 0 ? '' : ', nor one of another user'}`,
    linuxOnly,
    async (t) => {
      const parent = spawn(process.execPath, [join(import.meta.dirname, 'guarded-parent.ts'), String(uid)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [first] = (await once(parent.stdout, 'data')) as [Buffer];
      const group = Number(String(first).trim());
      const members = groupMembers(group);
      t.ok(members.length >= 3, 'the worker, its child and the guard');
      for (const pid of members) t.equal(statSync(`/proc/${pid}`).uid, uid || process.getuid!(), 'as its user');
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      await waitFor('the group to be empty', () => groupMembers(group).length === 0);
    },
  );
}

t.test(
  'as another user: its exit code, output and end',
  { skip: process.getuid!() === 0 ? false : 'needs root' },
  async (t) => {
    const user = { uid: 2_000_000_003, gid: 2_000_000_003 };
    const asUser = (command: string[], workingDirectory = '/') => {
      let text = '';
      const worker = executor.start({
        ...PLAIN,
        user,
        command,
        workingDirectory,
        env: { PATH },
        onOutput: (bytes) => {
          text += String(bytes);
        },
      });
      return { worker, output: () => text };
    };
    const plain = asUser(['sh', '-c', 'pwd; id -u; exit 3'], '/tmp');
    t.same(await plain.worker.ended, { code: 3, signal: undefined, failure: undefined });
    t.equal(plain.output(), `/tmp\n${user.uid}\n`);
    const nowhere = asUser(['true'], '/nonexistent');
    t.equal((await nowhere.worker.ended).code, 126);
    t.match(nowhere.output(), /nonexistent/);
    const deaf = asUser(['sh', '-c', 'trap "" TERM; sleep 1000 & echo ready; while :; do sleep 0.05; done']);
    await waitFor('ready', () => deaf.output().includes('ready'));
    deaf.worker.stop();
    deaf.worker.kill();
    t.equal((await deaf.worker.ended).signal, 'SIGKILL');
  },
);
