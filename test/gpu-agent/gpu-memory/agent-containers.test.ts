// test: alone, python, 10 s
/**
 * GPU memory of workers in containers, on a real Podman and a driver's stand-in: their processes are moved by their ids
 * on the host, and a new agent continues with an offloaded one.
 */
import { join } from 'node:path';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { offerCards } from '../../helpers/cuda/cuda-device.ts';
import { startGpuAgent } from '../../helpers/cuda/gpu-agent-process.ts';
import { cudaSkip, startCuda } from '../../helpers/cuda/stand-in.ts';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { makeWorkerImage } from '../../helpers/engines/podman-images.ts';
import { PYTHONS, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { PATIENCE_MS, waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const CARD = 'GPU-0000-one';
const IMAGE = 'localhost/gpu:1';
const WORKER = { imageName: IMAGE, gpuUuids: [CARD], mib: 3_000 };
const { HOST, UNSPECIFIED } = StandbyLevel;

t.test('workers in containers', { skip: podmanSkip || cudaSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../../handlers/gpu.py'), IMAGE);
  const cuda = await startCuda(t, { cards: { [CARD]: 4_096 } });
  const agent = await startGpuAgent(t, cuda, {
    SLIPWAY_AGENT_CONTAINERS: podman.socket,
    SLIPWAY_CDI_KIND: offerCards(t, cuda, [CARD]),
  });

  await agent.start('apart000000000', WORKER);
  const first = await agent.run('apart000000000', 1);
  await agent.offload('apart000000000');
  t.equal(await cuda.used(CARD), 0);
  await agent.start('bpart000000000', WORKER);
  t.match(await agent.run('bpart000000000', 2), { number: 2, mib: 3_000 }, 'another has the card');
  await agent.offload('bpart000000000');
  await agent.restore('apart000000000');
  t.strictSame(await agent.run('apart000000000', 3), { ...first, number: 3 }, 'the same process goes on');
  await agent.offload('apart000000000');

  await t.test('a killed agent: the next one adopts offloaded workers', async (t) => {
    await agent.child.kill();
    await agent.child.start();
    await agent.core.reaches('bpart000000000', WorkerState.FROZEN, HOST);
    t.equal(await cuda.used(CARD), 0);
    await cuda.forgetCalls();
    await agent.restore('bpart000000000');
    t.match(await agent.run('bpart000000000', 4), { number: 4, mib: 3_000 });
    t.strictSame(await cuda.calls(), ['restore 0', 'unlock 0']);
  });

  await t.test('an agent killed in the middle of a move: the next one ends the worker', async (t) => {
    await cuda.fault('checkpoint', { lateMs: 600_000 });
    agent.want('bpart000000000', DesiredState.FREEZE, HOST);
    await waitFor('the call', async () => !(await cuda.plans('checkpoint')), PATIENCE_MS);
    await agent.child.kill();
    await agent.child.start();
    t.match(await agent.core.reaches('bpart000000000', WorkerState.STOPPED, UNSPECIFIED), {
      offloadFailure: OffloadFailure.INTERRUPTED,
    });
    agent.drop('bpart000000000');
    await waitFor('its container to go', async () => !(await podman.names()).includes('bpart000000000'), PATIENCE_MS);
    t.equal(await cuda.used(CARD), 0);
    await agent.restore('apart000000000');
    t.match(await agent.run('apart000000000', 5), { mib: 3_000 }, 'the other one goes on');
  });
});
