// test: postgres
/** Reports of pods: which session's count, and what a report that cannot be stored does to the others. */

import type { PodFacts } from '@slipway/core/store/pods/pod-report-store';
import { PodReportStore } from '@slipway/core/store/pods/pod-report-store';
import { openDatabase } from '@slipway/core/store/sql/database';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

const CPU = { computeType: 'CPU', startCommand: ['sleep', '9'] };

t.test('a report that cannot be stored does not block others', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent();
  const pods = podCalls(core.clients, core.key);
  const { id } = await pods.create(CPU);
  const facts = { run: 1, state: PodState.RUNNING, reason: '' };
  agent.send({
    pods: [
      { ...facts, podId: 'a\0b' },
      { ...facts, podId: id },
    ],
  });
  await pods.reach(id, 'RUNNING');
  const endpointId = await core.createEndpoint();
  agent.send({ workers: [{ workerId: 'a\0b', endpointId, state: WorkerState.READY, capacity: 1 }] });
  await core.ready(endpointId);
});

t.test('what an earlier session says late changes nothing', async (t) => {
  const core = await startReplicas(t);
  const { machineId } = await core.joinAgent();
  const pods = podCalls(core.clients, core.key);
  const { id } = await pods.create(CPU);
  const database = openDatabase(core.url, { logger: createLogger('test', 'silent') });
  t.teardown(() => database.close());
  const store = new PodReportStore(database, new Sealer('0'.repeat(64)));
  const [row] = await core.sql`SELECT session_id FROM machine WHERE id = ${machineId}`;
  const facts = (state: PodFacts['state']): PodFacts[] => [
    { podId: id, run: 1, state, reason: '', exitCode: null, httpAddresses: {}, tcpAddresses: {} },
  ];
  await store.report({ machineId, sessionId: row!.session_id as string }, facts('RUNNING'));
  t.equal((await pods.get(id)).state, PodState.RUNNING);
  await store.report({ machineId, sessionId: 'an earlier one' }, facts('FAILED'));
  t.equal((await pods.get(id)).state, PodState.RUNNING);
  await store.missing({ machineId, sessionId: 'an earlier one' }, []);
  t.equal((await pods.get(id)).state, PodState.RUNNING, 'its hello did not know the pod yet');
  await core.sql`UPDATE machine SET session_id = NULL WHERE id = ${machineId}`;
  await store.report({ machineId, sessionId: row!.session_id as string }, facts('FAILED'));
  t.equal((await pods.get(id)).state, PodState.FAILED, 'the final report of a session that ended in order counts');
});
