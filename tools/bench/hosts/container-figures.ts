/**
 * Measures containers. It compares a start through the agent's executor with a bare `podman run` of the same image, and
 * a resume from standby with a request to a warm container. Rounds of both alternate, so that other load on the machine
 * affects both. This is a separate process (containers.ts), because its helpers are those of the tests.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { launchOf, makeExecutor, startContainer } from '@slipway/test/helpers/engines/containers';
import { startPodman } from '@slipway/test/helpers/engines/podman';
import type { TestPodman } from '@slipway/test/helpers/engines/podman-images';
import { BASE_IMAGE } from '@slipway/test/helpers/engines/podman-images';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import root from 'tap';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import { measureFlashBoot } from './flashboot-figures.ts';

/** Measured rounds, after a warm-up round. */
const ROUNDS = 11;
const START_MS_MAX = 60;
const WAKE_MS_MAX = 20;
const SCRIPT = 'echo up; exec sleep 60';

type Executor = ReturnType<typeof makeExecutor>['executor'];

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Returns the time until the container writes its first line. */
function bareStart(podman: TestPodman): Promise<number> {
  return timed(async () => {
    const child = execFile('podman', ['run', '--rm', BASE_IMAGE, '/bin/sh', '-c', 'echo up'], { env: podman.env });
    const ended = once(child, 'exit');
    await once(child.stdout!, 'data');
    void ended;
  });
}

/** Returns the same time through the executor. The image is not checked for, as in a bare run. */
async function ownStart(executor: Executor): Promise<number> {
  const up = Promise.withResolvers<void>();
  const launch = launchOf(SCRIPT, { onOutput: () => up.resolve() });
  await executor.prepare(launch, () => undefined, new AbortController().signal);
  let end = async (): Promise<unknown> => undefined;
  const ms = await timed(async () => {
    const workload = executor.start(launch);
    end = async () => {
      workload.kill();
      return workload.ended;
    };
    await up.promise;
  });
  await end();
  return ms;
}

async function measureStarts(podman: TestPodman, executor: Executor): Promise<Figure[]> {
  const [bare, own]: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [bareMs, ownMs] = [await bareStart(podman), await ownStart(executor)];
    if (round === 0) continue;
    bare.push(bareMs);
    own.push(ownMs);
  }
  const more = median(own.map((ms, index) => ms - bare[index]!));
  return [
    { name: 'bare podman run, to its first line', path: '', value: median(bare), unit: 'ms' },
    { name: 'container of the agent, to its first line', path: '', value: median(own), unit: 'ms' },
    { name: 'more than a bare podman run', path: '', value: more, unit: 'ms', target: START_MS_MAX },
  ];
}

async function measureWakes(executor: Executor): Promise<Figure[]> {
  const launch = launchOf('exec python3 -u -m http.server 8000');
  const workload = await startContainer(executor, launch);
  await waitFor('it to listen', () => launch.output().includes('8000') && workload.address);
  const ask = async (): Promise<unknown> =>
    (await fetch(`http://${workload.address}:8000/`, { headers: { connection: 'close' } })).arrayBuffer();
  const [warm, woken]: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const warmMs = await timed(ask);
    await workload.freeze();
    const wokenMs = await timed(async () => {
      await workload.thaw();
      await ask();
    });
    if (round === 0) continue;
    warm.push(warmMs);
    woken.push(wokenMs);
  }
  workload.kill();
  await workload.ended;
  const more = median(woken.map((ms, index) => ms - warm[index]!));
  return [
    { name: 'answer of a warm container', path: '', value: median(warm), unit: 'ms' },
    { name: 'answer of a frozen one, woken for it', path: '', value: median(woken), unit: 'ms' },
    { name: 'more than a warm one', path: '', value: more, unit: 'ms', target: WAKE_MS_MAX },
  ];
}

// The tests' helpers would end after a while.
root.setTimeout(0);
const podman = await startPodman();
const { executor, networks } = makeExecutor(podman);
try {
  const figures = [
    ...(await measureStarts(podman, executor)),
    ...(await measureWakes(executor)),
    ...(await measureFlashBoot(podman, ROUNDS)),
  ];
  process.send!({ figures });
} finally {
  await executor.sweep(new Set());
  await executor.close();
  await networks.close();
}
process.exit(0);
