/** Containers whose engine executes a call but whose answer is lost, or that never gets the call or rejects it. */
import type { Test } from 'tap';
import { engineCutter } from '../../../helpers/db/engine-cutter.ts';
import { launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Runs them as parts of a test. */
export async function lostAnswers(t: Test, engine: TestEngine): Promise<void> {
  await t.test('the response to its start is lost: it runs, and is not started twice', async (t) => {
    const cutter = await engineCutter(t, engine.socket, /^POST \S+\/start /, 'ANSWERED');
    const { executor } = makeExecutor({ ...engine, socket: cutter.socket });
    const launch = launchOf('echo up; trap "exit 7" TERM; while :; do sleep 0.05; done');
    const workload = await startContainer(executor, launch);
    await waitFor('its address', () => workload.address !== '');
    await waitFor('its output', () => launch.output() === 'up\n');
    t.equal(cutter.cuts(), 1);
    workload.stop();
    t.same(await workload.ended, { code: 7, signal: undefined, failure: undefined });
  });

  await t.test(
    'the responses to its freeze and its thaw are lost: the agent knows that it is frozen, and runs',
    async (t) => {
      const cutter = await engineCutter(t, engine.socket, /^POST \S+\/(?:un)?pause /, 'ANSWERED');
      const { executor } = makeExecutor({ ...engine, socket: cutter.socket });
      const launch = launchOf('trap "exit 0" TERM; while :; do echo tick; sleep 0.02; done');
      const workload = await startContainer(executor, launch);
      await waitFor('ticks', () => launch.output().length > 0);
      await workload.freeze();
      t.match(await engine.names({ paused: true }), launch.workloadId);
      await workload.thaw();
      t.notMatch(await engine.names({ paused: true }), launch.workloadId);
      t.equal(cutter.cuts(), 2);
      workload.stop();
      t.match(await workload.ended, { code: 0 });
    },
  );

  await t.test(
    'the engine is killed after the creation: not started, reported, and removed once the engine is back',
    async (t) => {
      const cutter = await engineCutter(t, engine.socket, /^POST \S+\/start /, 'ASKED');
      const { executor } = makeExecutor({ ...engine, socket: cutter.socket });
      const launch = launchOf('echo up');
      const workload = await startContainer(executor, launch);
      t.match((await workload.ended).failure, /could not be started/);
      await waitFor('it to be removed', async () => !(await engine.names({ all: true })).includes(launch.workloadId));
      t.equal(launch.output(), '');
    },
  );

  await t.test('the engine is too busy for its kill: it is killed as soon as the engine is not', async (t) => {
    const cutter = await engineCutter(t, engine.socket, /^POST \S+\/kill\?/, 'BUSY');
    const { executor } = makeExecutor({ ...engine, socket: cutter.socket });
    const workload = await startContainer(executor, launchOf('while :; do sleep 0.05; done'));
    await waitFor('it to run', () => workload.address !== '');
    workload.kill();
    await waitFor('a rejected kill', () => cutter.cuts() > 0);
    cutter.heal();
    t.match(await workload.ended, { signal: 'SIGKILL' });
  });
}
