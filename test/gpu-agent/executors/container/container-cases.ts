/**
 * Behaviour of containers on a real engine, Docker or Podman: output, exits, signals, limits, and what survives the
 * agent and the engine.
 */
import { readFileSync } from 'node:fs';
import { LOG_BYTES_MAX, MACHINE_LABEL, WORKLOAD_LABEL } from '@slipway/gpu-agent/executors/container/container-plan';
import { askEngine } from '@slipway/gpu-agent/executors/container/engine';
import { readLog } from '@slipway/gpu-agent/executors/container/engine-calls';
import { killsInKernelLog } from '@slipway/gpu-agent/executors/container/memory-watch';
import { systemClock } from '@slipway/kit/time/clock';
import Docker from 'dockerode';
import type { Test } from 'tap';
import { freshId, launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import { BASE_IMAGE } from '../../../helpers/engines/podman-images.ts';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { scratch } from '../../../helpers/scratch.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { goneContainer, logBytes, TALKS } from './container-traces.ts';
import { lostAnswers } from './lost-answer-cases.ts';
import { adoptionFromSlowEngine } from './slow-engine-case.ts';

/** Runs them all as parts of a test. */
export async function containerCases(t: Test, engine: TestEngine): Promise<void> {
  const { executor, machineId } = makeExecutor(engine);

  await t.test('its output in order, and its exit code', async (t) => {
    const launch = launchOf(
      'i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; echo $GREETING >&2; exit 3',
      { env: { GREETING: 'hello' } },
    );
    const workload = await startContainer(executor, launch);
    t.same(await workload.ended, { code: 3, signal: undefined, failure: undefined });
    // Two pipes: engines read them one after the other.
    t.match(launch.output(), /^hello$/m);
    t.equal(
      launch.output().replace('hello\n', ''),
      Array.from({ length: 300 }, (_, index) => `line ${index}\n`).join(''),
    );
    await waitFor('it to be removed', async () => !(await engine.names({ all: true })).includes(launch.workloadId));
  });

  await t.test('a missing program is reported', async (t) => {
    const workload = await startContainer(executor, launchOf('', { command: ['/no/such'] }));
    const { failure } = await workload.ended;
    t.match(failure, /could not be started.*"\/no\/such".*no such file/);
  });

  await t.test('SIGTERM is a request, SIGKILL is not', async (t) => {
    const launch = launchOf('trap "echo asked; exit 7" TERM; echo up; while :; do sleep 0.05; done');
    const workload = await startContainer(executor, launch);
    await waitFor('it to run', () => launch.output() === 'up\n');
    workload.stop();
    t.same(await workload.ended, { code: 7, signal: undefined, failure: undefined });
    t.equal(launch.output(), 'up\nasked\n');

    const stubborn = launchOf('trap "" TERM; echo up; while :; do sleep 0.05; done');
    const killed = await startContainer(executor, stubborn);
    await waitFor('it to run', () => stubborn.output() === 'up\n');
    killed.stop();
    killed.kill();
    t.same(await killed.ended, { code: undefined, signal: 'SIGKILL', failure: undefined });
  });

  await t.test('killed before its creation, it never runs', async (t) => {
    const launch = launchOf('echo ran');
    await executor.prepare(launch, () => undefined, new AbortController().signal);
    const workload = executor.start(launch);
    workload.kill();
    t.match(await workload.ended, { signal: 'SIGKILL' });
  });

  await t.test('asked to end before its creation, it never runs', async (t) => {
    const launch = launchOf('echo ran; sleep 1000');
    const workload = await startContainer(executor, launch);
    workload.stop();
    t.match(await workload.ended, { signal: 'SIGTERM', failure: undefined });
    t.equal(launch.output(), '');
  });

  await t.test('more memory than its limit: out of memory is known for certain', async (t) => {
    const launch = launchOf('exec python3 -c "a = bytearray(300 << 20)"', {
      limits: { ...NO_LIMITS, memoryBytes: 64 << 20 },
    });
    const workload = await startContainer(executor, launch);
    t.same(await workload.ended, { code: undefined, signal: 'SIGKILL', failure: undefined, outOfMemory: true });
    const fine = await startContainer(
      executor,
      launchOf('kill -9 $$', { limits: { ...NO_LIMITS, memoryBytes: 64 << 20 } }),
    );
    t.notOk((await fine.ended).outOfMemory, 'killed for another reason');
    const [full, other] = await Promise.all([64, 640].map((mebibytes) => goneContainer(engine, mebibytes)));
    t.equal(await killsInKernelLog(full!), 1, 'also when its control group went before it was looked at');
    t.equal(await killsInKernelLog(other!), undefined);
  });

  await t.test('limits, mounts, working directory, no new privileges, only what it needs', async (t) => {
    const { folder } = await scratch(t);
    const launch = launchOf(
      'exec 2>&1; pwd; df=$(cat /proc/mounts); echo "$df" | while read a b c d e; do [ $b = /dev/shm ] && echo ' +
        '$d; done; cat /proc/self/status; cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null; ls ' +
        '/run; echo from inside > /data/note; ls /',
      {
        mounts: [{ source: folder, target: '/data' }],
        workingDirectory: '/tmp/work',
        limits: { ...NO_LIMITS, pids: 77, shmBytes: 3 << 20, cpus: 0.5, memoryBytes: 64 << 20 },
      },
    );
    const workload = await startContainer(executor, launch);
    t.same(await workload.ended, { code: 0, signal: undefined, failure: undefined });
    const output = launch.output();
    t.match(output, /^\/tmp\/work\n/);
    t.match(output, /size=3072k/, 'shm');
    t.match(output, /NoNewPrivs:\t1/);
    t.match(output, /^77$/m, 'pids');
    const capabilities = BigInt(`0x${/CapEff:\t(\w+)/.exec(output)![1]!}`);
    const taken = [
      ['NET_ADMIN', 12n],
      ['NET_RAW', 13n],
      ['SYS_PTRACE', 19n],
      ['SYS_ADMIN', 21n],
      ['MKNOD', 27n],
      ['SETFCAP', 31n],
    ] as const;
    for (const [name, bit] of taken) t.equal((capabilities >> bit) & 1n, 0n, `no ${name}`);
    t.notMatch(output, /\.sock/);
    t.equal(readFileSync(`${folder}/note`, 'utf8'), 'from inside\n');
  });

  await t.test('its log is bounded on disk, and all its output arrives', async (t) => {
    const { folder, open } = await scratch(t);
    open('go');
    let bytes = 0;
    let last = '';
    const launch = launchOf(TALKS, {
      mounts: [{ source: folder, target: '/data' }],
      onOutput: (piece) => {
        bytes += piece.length;
        last = (last + String(piece)).slice(-100);
      },
    });
    const workload = await startContainer(executor, launch);
    await waitFor('all it writes', () => last.endsWith('x\nsaid\n'));
    t.equal(bytes, 24_000_005, 'nothing was left out');
    const kept = await logBytes(engine, `slipway-${machineId}-${launch.workloadId}`);
    t.ok(kept > 0 && kept <= LOG_BYTES_MAX + 100_000, `${kept} bytes are kept`);
    open('end');
    await workload.ended;
  });

  await t.test("an unbounded log of an earlier agent's container is bounded once adopted", async (t) => {
    const { folder, open } = await scratch(t);
    const workloadId = freshId();
    const docker = new Docker({ socketPath: engine.socket });
    const container = await docker.createContainer({
      name: `slipway-${machineId}-${workloadId}`,
      Image: BASE_IMAGE,
      Cmd: ['/bin/sh', '-c', TALKS],
      Labels: { [WORKLOAD_LABEL]: workloadId, [MACHINE_LABEL]: machineId },
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'bind', Source: folder, Target: '/data' }] },
    });
    await container.start();
    open('go');
    await waitFor('a large log', async () => (await readLog(container)).toString().endsWith('x\nsaid\n'));
    let output = '';
    const workload = await executor.adopt(workloadId, (piece) => {
      output = (output + String(piece)).slice(-100);
    });
    t.match(output, /x\nsaid\n$/, 'the end of what it wrote before is told');
    const { facts } = await askEngine(engine.socket, systemClock);
    if (facts.kind === 'podman')
      await waitFor('the log to be cut', async () => (await logBytes(engine, container.id)) <= LOG_BYTES_MAX);
    open('end');
    t.match(await workload!.ended, { code: 0 });
  });

  await t.test('freeze pauses it, thaw resumes it, and stop reaches a frozen one', async (t) => {
    const launch = launchOf('trap "exit 0" TERM; while :; do echo tick; sleep 0.02; done');
    const workload = await startContainer(executor, launch);
    await waitFor('ticks', () => launch.output().length > 10);
    await workload.freeze();
    await workload.freeze();
    t.equal((await engine.names({ paused: true })).trim(), `slipway-${machineId}-${launch.workloadId}`);
    const { length } = launch.output();
    const stats = await workload.stats();
    t.ok(stats && stats.memoryBytes > 0 && stats.cpuMicros > 0, 'stats');
    t.ok(launch.output().length - length < 10, 'nothing more came but what was on its way');
    await workload.thaw();
    const then = launch.output().length;
    await waitFor('more ticks', () => launch.output().length > then + 10);
    await workload.freeze();
    workload.stop();
    t.same(await workload.ended, { code: 0, signal: undefined, failure: undefined });
  });

  await t.test('it outlives its agent; the next one adopts it, and removes unknown containers', async (t) => {
    const first = makeExecutor(engine);
    const launch = launchOf('trap "echo asked; exit 5" TERM; echo early; while :; do sleep 0.05; done');
    const stranger = launchOf('sleep 100');
    await startContainer(first.executor, launch);
    await startContainer(first.executor, stranger);
    await waitFor('it to run', () => launch.output() === 'early\n');
    await first.executor.close();

    const second = makeExecutor(engine, { machineId: first.machineId });
    let output = '';
    const workload = await second.executor.adopt(launch.workloadId, (bytes) => {
      output += String(bytes);
    });
    t.equal(await second.executor.adopt('nothing0000000', () => undefined), undefined);
    await second.executor.sweep(new Set([launch.workloadId]));
    const names = await engine.names({ all: true });
    t.match(names, launch.workloadId);
    t.notMatch(names, stranger.workloadId);
    await waitFor('what it wrote before', () => output === 'early\n');
    workload!.stop();
    t.same(await workload!.ended, { code: 5, signal: undefined, failure: undefined });
    t.equal(output, 'early\nasked\n');
  });

  await adoptionFromSlowEngine(t, engine);

  await t.test('it ended without its agent: the next one gets its exit and its output', async (t) => {
    const first = makeExecutor(engine);
    const { folder, open } = await scratch(t);
    const script = 'echo early; while [ ! -e /data/go ]; do sleep 0.02; done; echo out of luck; exit 5';
    const launch = launchOf(script, { mounts: [{ source: folder, target: '/data' }] });
    const workload = await startContainer(first.executor, launch);
    await waitFor('it to run', () => workload.address !== '' && launch.output() === 'early\n');
    await first.executor.close();
    open('go');
    await waitFor('its end', async () => !(await engine.names()).includes(launch.workloadId));

    const second = makeExecutor(engine, { machineId: first.machineId });
    let output = '';
    const found = await second.executor.adopt(launch.workloadId, (bytes) => {
      output += String(bytes);
    });
    t.same(await found!.ended, { code: 5, signal: undefined, failure: undefined });
    t.equal(output, 'early\nout of luck\n');
    await waitFor('it to be removed', async () => !(await engine.names({ all: true })).includes(launch.workloadId));
  });

  await t.test('killed while the engine is down, it ends once the engine is back', async (t) => {
    const launch = launchOf('trap "" TERM; echo up; while :; do sleep 0.05; done');
    const workload = await startContainer(executor, launch);
    await waitFor('it to run', () => workload.address !== '' && launch.output() === 'up\n');
    await engine.killService();
    workload.kill();
    await engine.startService();
    t.match(await workload.ended, { signal: 'SIGKILL' });
  });

  await t.test('the engine is killed: the container survives, its output and end are not lost', async (t) => {
    const { folder, open } = await scratch(t);
    const script =
      'echo one; while [ ! -e /data/go ]; do sleep 0.02; done; echo two; while [ ! -e /data/end ]; do sleep ' +
      '0.02; done; echo three; exit 9';
    const launch = launchOf(script, { mounts: [{ source: folder, target: '/data' }] });
    const workload = await startContainer(executor, launch);
    await waitFor('the first line', () => launch.output() === 'one\n');
    // It writes before the engine has written down that it runs.
    await waitFor('it to run', () => workload.address !== '');
    await engine.killService();
    open('go');
    await engine.startService();
    await waitFor('the second line', () => launch.output() === 'one\ntwo\n');
    open('end');
    t.same(await workload.ended, { code: 9, signal: undefined, failure: undefined });
    t.equal(launch.output(), 'one\ntwo\nthree\n');
  });

  await lostAnswers(t, engine);
}
