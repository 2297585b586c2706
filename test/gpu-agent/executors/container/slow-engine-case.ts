/** Containers whose engine does not answer, or answers with errors, when the next agent comes. */
import { interfacePrefix } from '@slipway/gpu-agent/executors/container/workload-networks';
import Docker from 'dockerode';
import type { Test } from 'tap';
import { engineCutter } from '../../../helpers/db/engine-cutter.ts';
import { launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/** Runs them as parts of a test. */
export async function adoptionFromSlowEngine(t: Test, engine: TestEngine): Promise<void> {
  const ATTACH = /^POST \S+\/attach\?/;
  /** Leaves a container that an agent has started, and returns an executor of the next agent, on this socket. */
  const leave = async (socket = engine.socket) => {
    const first = makeExecutor(engine);
    const launch = launchOf('trap "echo asked; exit 5" TERM; while :; do sleep 0.05; done');
    const workload = await startContainer(first.executor, launch);
    await waitFor('it to run', () => workload.address !== '');
    await first.executor.close();
    const { machineId } = first;
    const next = (at = socket) => makeExecutor({ ...engine, socket: at }, { machineId });
    return { ...next(), next, machineId, id: launch.workloadId };
  };

  await t.test('the engine does not answer when the next agent comes: that asks again', async (t) => {
    const { executor, engines, id } = await leave();
    await engine.killService();
    const adopting = executor.adopt(id, () => undefined);
    await t.rejects(engines.find(), { message: /does not answer/ });
    await engine.startService();
    const adopted = await adopting;
    adopted!.stop();
    t.match(await adopted!.ended, { code: 5 });
  });

  await t.test('a container whose adoption has failed once is not swept before the next try', async (t) => {
    const cutter = await engineCutter(t, engine.socket, ATTACH, 'ASKED');
    const { executor, id } = await leave(cutter.socket);
    const adopting = executor.adopt(id, () => undefined);
    await waitFor('a failed try', () => cutter.cuts() > 0);
    await executor.sweep(new Set());
    cutter.heal();
    const adopted = await adopting;
    adopted!.stop();
    t.match(await adopted!.ended, { code: 5 });
  });

  await t.test('the agent stops between two tries, or during one: the container runs on for the next', async (t) => {
    const cutter = await engineCutter(t, engine.socket, ATTACH, 'ASKED');
    const { executor, next, machineId, id } = await leave(cutter.socket);
    const failing = executor.adopt(id, () => undefined);
    await waitFor('a failed try', () => cutter.cuts() > 0);
    await executor.close();
    t.ok(await failing, 'not reported as ended');
    const network = new Docker({ socketPath: engine.socket }).getNetwork(`slipway-${interfacePrefix(machineId)}`);
    await t.resolves(network.inspect(), 'its network stays');

    let output = '';
    const second = next(engine.socket);
    const late = second.executor.adopt(id, (bytes) => {
      output += String(bytes);
    });
    await second.executor.close();
    t.ok(await late);
    await t.resolves(network.inspect(), 'its network stays');

    const adopted = await next(engine.socket).executor.adopt(id, () => undefined);
    adopted!.stop();
    t.match(await adopted!.ended, { code: 5 });
    t.equal(output, '', 'an agent that has stopped hears nothing of it');
  });
}
