// test: alone, postgres, 15 s
/**
 * Load of GPUs, from the driver to the operator: reported while it is known, only for GPUs of the machine, and never by
 * another key.
 */

import { gpuLoadsFromMessage } from '@slipway/core/dispatch/reports/gpu-load-messages';
import { GpuLoads } from '@slipway/gpu-agent/inventory/gpu-loads';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { GpuLoads as Message } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { recordedH200, withDriver } from '../../helpers/db/with-driver.ts';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../helpers/system/metrics.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const UUID = 'GPU-2f777980-206d-067c-55c8-000e056d6f07';
const BUSY = { uuid: UUID, utilization: 0.98, memoryUsedMib: 883, temperatureCelsius: 58, powerWatts: 693.7 };

t.test(
  'a running agent tells core and Prometheus, anew after a new session, and nothing once the driver is silent',
  async (t) => {
    const driver = withDriver(t, recordedH200());
    const core = await startReplicas(t, 2);
    const metrics = `127.0.0.1:${await quietPort()}`;
    const agent = await startRealAgent(t, core, { SLIPWAY_METRICS_LISTEN: metrics });
    let { clients } = core;
    const status = async () => (await call(clients.machines, 'listMachines', {}, core.rootKey)).machines[0]!;
    const loads = async () => (await status()).gpuLoads;
    await waitFor('the load of the card', async () => (await loads()).length > 0);
    t.match(await loads(), [BUSY]);
    const page = await call(clients.machines, 'getMachine', { id: agent.machineId }, core.rootKey);
    t.match(page.status!.gpuLoads, [BUSY]);
    const served = await readMetrics(metrics);
    const of = { gpu: UUID, type: 'NVIDIA H200' };
    t.equal(valueOf(served, 'slipway_agent_gpu_utilization_ratio', of), 0.98);
    t.equal(valueOf(served, 'slipway_agent_gpu_memory_used_bytes', of), 883 * 1024 * 1024);
    t.equal(valueOf(served, 'slipway_agent_gpu_memory_bytes', of), 143_771 * 1024 * 1024);
    t.equal(valueOf(served, 'slipway_agent_gpu_temperature_celsius', of), 58);
    t.equal(valueOf(served, 'slipway_agent_gpu_power_watts', of), 693.7);

    const [holder, other] = core.replicas.toSorted(({ address }) => (address === page.replicaAddress ? -1 : 1));
    clients = grpcClients(other!.address);
    t.teardown(() => clients.close());
    await holder!.stop();
    await waitFor('a session with the other replica, and the load in it', async () => {
      const { status: now, replicaAddress } = await call(
        clients.machines,
        'getMachine',
        { id: agent.machineId },
        core.rootKey,
      );
      return replicaAddress === other!.address && now!.gpuLoads.length > 0;
    });
    t.match(await loads(), [BUSY], 'told again, though nothing changed');
    driver.say({ load: recordedH200().load.replace('98 %', '7 %') });
    await waitFor('less', async () => (await loads())[0]?.utilization === 0.07);
    driver.silence();
    await waitFor('nothing to be known', async () => (await loads()).length === 0);
    t.equal((await readMetrics(metrics)).get('slipway_agent_gpu_utilization_ratio')!.samples.length, 0);
    t.match((await status()).machine!.gpus, [{ uuid: UUID }], 'it is there all the same');
  },
);

t.test('no driver is asked for virtual GPUs, and one that takes long is asked less often', async (t) => {
  const driver = withDriver(t, recordedH200());
  const clock = new ManualClock();
  const gpu = (virtual: boolean) => ({ uuid: UUID, name: 'NVIDIA H200', memoryMib: 143_771, migProfile: '', virtual });
  let [gpus, changes] = [[gpu(true)], 0];
  const loads = new GpuLoads({
    gpus: () => gpus,
    onChange: () => {
      changes += 1;
    },
    clock,
    random: systemRandom,
    logger: createLogger('test', 'silent'),
  });
  await loads.look();
  t.same([driver.asked(), changes, loads.loads], [0, 0, []]);
  gpus = [gpu(true), gpu(false)];
  const looking = loads.look();
  clock.pass(1_000);
  await looking;
  t.match([driver.asked(), changes, loads.loads], [1, 1, [BUSY]]);
  await loads.look();
  t.equal(driver.asked(), 1, 'it took a second, and is left alone for twenty');
  clock.pass(20_000);
  await loads.look();
  t.same([driver.asked(), changes], [2, 1], 'what is as before is not told again');
});

t.test('impossible values of the driver are dropped', async (t) => {
  const message = Message.fromPartial({
    loads: [
      { uuid: UUID, utilization: 7, memoryUsedMib: -1, temperatureCelsius: -5, powerWatts: Number.POSITIVE_INFINITY },
      { uuid: 'GPU-of-another-machine', utilization: 0.5 },
      { uuid: '\0', utilization: 0.5 },
      { uuid: 'second', utilization: Number.NaN },
      ...Array.from({ length: 1_000 }, () => ({ uuid: 'third', utilization: 0.25 })),
    ],
  });
  t.same(gpuLoadsFromMessage(message, new Set([UUID, 'second', 'third'])), [
    { uuid: UUID, utilization: 1, temperatureCelsius: -5 },
    { uuid: 'second' },
    { uuid: 'third', utilization: 0.25 },
  ]);
});
