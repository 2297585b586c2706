/** A container whose engine does not answer when the next agent comes. */
import type { Test } from 'tap';
import { launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Runs it as a part of a test. */
export async function adoptionFromSlowEngine(t: Test, engine: TestEngine): Promise<void> {
  await t.test('the engine does not answer when the next agent comes: that asks again', async (t) => {
    const first = makeExecutor(engine);
    const launch = launchOf('trap "exit 5" TERM; while :; do sleep 0.05; done');
    const workload = await startContainer(first.executor, launch);
    await waitFor('it to run', () => workload.address !== '');
    await first.executor.close();
    await engine.killService();
    const second = makeExecutor(engine, { machineId: first.machineId });
    const adopting = second.executor.adopt(launch.workloadId, () => undefined);
    await t.rejects(second.engines.find(), { message: /does not answer/ });
    await engine.startService();
    const adopted = await adopting;
    adopted!.stop();
    t.match(await adopted!.ended, { code: 5 });
  });
}
