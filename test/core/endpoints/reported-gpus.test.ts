// test: postgres
/** GPU types that the public list lacks: a machine's own types can be requested by name. */

import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);
const CARD = 'NVIDIA GeForce RTX 3060';
const gpu = { uuid: 'GPU-1', name: CARD, memoryMib: 12_288, migProfile: '', displayName: '' };
const other = { ...gpu, uuid: 'GPU-2', name: 'NVIDIA GeForce RTX 2080 Ti' };

t.test('endpoints and pods ask for a card by the name that its machine reports', async (t) => {
  const core = await startReplicas(t);
  const refused = await reasonOf(core.createEndpoint({ gpuIds: [CARD] }));
  t.match(refused, /^INVALID_REQUEST: gpu_ids: "NVIDIA GeForce RTX 3060" is not known/, 'while no machine has one');
  const agent = await core.joinAgent({ gpus: [gpu, other], cpuSlots: 0 });
  t.match(
    await reasonOf(core.createEndpoint({ gpuIds: ['NVIDIA GeForce RTX 3061'] })),
    /allowed is .*NVIDIA GeForce RTX 3060/,
    'the refusal lists it',
  );
  for (const id of ['constructor', 'toString', '-constructor']) {
    t.match(await reasonOf(core.createEndpoint({ gpuIds: [id] })), /^INVALID_REQUEST: gpu_ids/, id);
  }

  const endpointId = await core.createEndpoint({ gpuIds: [CARD], workersMin: 1 });
  await core.ready(endpointId);
  t.same(agent.desired[0]!.spec!.gpuUuids, ['GPU-1'], 'the worker has that card');
  const pod = Pod.fromPartial({ gpuIds: [other.name], startCommand: ['sleep', '9'] });
  t.equal((await call(core.clients.pods, 'createPod', { pod }, core.key)).pod!.gpuTypeId, other.name);
  const update = (fields: object, updateMask: string[]) =>
    call(
      core.clients.endpoints,
      'updateEndpoint',
      { endpoint: { ...empty, id: endpointId, ...fields }, updateMask },
      core.key,
    );
  const empty = (await call(core.clients.endpoints, 'getEndpoint', { id: endpointId }, core.key)).endpoint!;
  t.same(
    (await update({ gpuIds: [`-${other.name}`] }, ['gpu_ids'])).endpoint!.gpuIds,
    [`-${other.name}`],
    'or excluded',
  );

  agent.drop();
  await core.sql`DELETE FROM machine`;
  t.equal(
    (await update({ workersMin: 0 }, ['workers_min'])).endpoint!.workersMin,
    0,
    'what an endpoint has stays allowed when the card is gone',
  );
  t.match(await reasonOf(update({ gpuIds: [CARD] }, ['gpu_ids'])), /^INVALID_REQUEST/, 'but no other');
});
