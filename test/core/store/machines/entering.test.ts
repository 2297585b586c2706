// test: postgres
/** What is written while a machine enters: nothing of a replaced session, and all that its operator decided. */
import type { MachineFacts } from '@slipway/core/store/machines/machine-rows';
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const { stores, sql } = await startEngines(t, { idle: true });
const { machines, gpuHealth, ephemeral } = stores;
const machineId = 'entering0001';
const card = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const facts: MachineFacts = {
  ...{ id: machineId, name: 'entering', gpus: [card], locations: [], pool: '', cpuSlots: 1, agentVersion: '1' },
  ...{ cudaVersion: '', cpuCount: 1, memoryMib: 1, cpuModel: '', cpuThreadsPerCore: 1, standbyMax: 0 },
  ...{ gpuOffload: null, runsCommands: true, engine: null, noEngineReason: '', ephemeral: false, leavesAt: null },
};
const join = async (sessionId: string, gpus: MachineFacts['gpus'] = facts.gpus): Promise<void> => {
  const session = { sessionId, replicaAddress: 'here', instance: 'one', replaces: '', heldHere: false };
  t.equal(await machines.join({ ...facts, gpus }, session), undefined);
};
const row = async () => (await sql`SELECT gpus, ephemeral FROM machine WHERE id = ${machineId}`)[0]!;

t.test('a GPU that is cordoned while its machine enters stays cordoned', async (t) => {
  await join('first');
  const seen = await gpuHealth.seen(machineId, [card]);
  t.ok(await gpuHealth.cordon(machineId, card.uuid, true, 'key'));
  await join('second', seen);
  await gpuHealth.record({ machineId, sessionId: 'second' }, seen);
  t.match(await row(), { gpus: [{ cordoned: true, unhealthy: /cordoned/ }] });
  t.match(await gpuHealth.events(machineId), [{ level: 'CORDONED' }]);
});

t.test('a session that has lost its machine writes nothing', async (t) => {
  const before = [await row(), await gpuHealth.events(machineId)];
  const failed = [{ ...card, unhealthy: 'its memory failed (ECC)' }];
  t.same(await gpuHealth.record({ machineId, sessionId: 'first' }, failed), []);
  await ephemeral.begin({ id: machineId, ephemeral: true, leavesAt: new Date() }, 'first');
  t.same([await row(), await gpuHealth.events(machineId)], before);
  await ephemeral.begin({ id: machineId, ephemeral: true, leavesAt: null }, 'second');
  t.match(await row(), { ephemeral: true });
});
