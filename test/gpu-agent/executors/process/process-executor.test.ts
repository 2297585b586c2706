// test: alone, python
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import type { HelperFailure } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { executor, groupMembers, linuxOnly, PATH, PLAIN, start } from './start-process.ts';

const run = promisify(execFile);
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
    const [exit, failure, frozen] = JSON.parse(stdout) as [WorkloadExit, HelperFailure, string];
    t.match(exit.failure, /too many open files .*LimitNOFILE/);
    t.match(failure, { kind: 'failed', text: /EMFILE/ });
    t.match(frozen, /EMFILE/, 'a worker whose processes cannot be seen does not count as frozen');
  },
);

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
