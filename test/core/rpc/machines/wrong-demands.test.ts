// test: postgres
/** The stream of facades: keys, endpoints and ids that are rejected. One replica, no agent. */
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { WatchRotationResponse } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EdgeServiceClient, EndpointDemand } from '@slipway/proto/gen/slipway/v1/edge_service';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { LB, watchReplica } from './rotation-watch.ts';

t.setTimeout(90_000);
const EDGE_KEY = 'edge-key-of-this-test-0123456789';
const core = await startReplicas(t, 1, { SLIPWAY_EDGE_KEY: EDGE_KEY });
const watch = (replica: number, edgeKey = '') => watchReplica(t, core, replica, edgeKey);

t.test("the edges' key needs no account key; every other caller does", async (t) => {
  const balanced = await core.createEndpoint(LB);
  const queued = await core.createEndpoint({ workersMin: 0 });
  const [ours, another, none] = [watch(0, EDGE_KEY), watch(0, 'another-key-of-some-length'), watch(0)];
  for (const endpointId of [balanced, queued, 'nosuchendpoint']) ours.tell({ endpointId, apiKey: '' });
  for (const stranger of [another, none]) stranger.tell({ endpointId: balanced, apiKey: '' });
  await waitFor('the picture', () => ours.latest.has(balanced));
  await waitFor('refusals', () => ours.refused.size === 2 && another.refused.size === 1 && none.refused.size === 1);
  t.same(Object.fromEntries(ours.refused), { [queued]: 'ENDPOINT_NOT_FOUND', nosuchendpoint: 'ENDPOINT_NOT_FOUND' });
  t.same(
    [another, none].map(({ refused }) => refused.get(balanced)),
    ['UNAUTHORIZED', 'UNAUTHORIZED'],
  );
  ours.tell({ endpointId: balanced, apiKey: 'wrong' });
  await waitFor('a wrong key to be refused all the same', () => ours.refused.get(balanced) === 'UNAUTHORIZED');
});

t.test('demands of keys that may not, of unknown endpoints and of queue-based ones are refused', async (t) => {
  const queue = await core.createEndpoint({ workersMin: 0 });
  const balanced = await core.createEndpoint(LB);
  const facade = watch(0);
  facade.tell({ endpointId: queue });
  facade.tell({ endpointId: 'nosuchendpoint' });
  facade.tell({ endpointId: balanced, apiKey: 'rpa_unknown', waiting: 5 });
  await waitFor('the refusals', () => facade.refused.size === 3);
  t.same(Object.fromEntries(facade.refused), {
    [queue]: 'WRONG_ENDPOINT_TYPE',
    nosuchendpoint: 'ENDPOINT_NOT_FOUND',
    [balanced]: 'UNAUTHORIZED',
  });
  t.same(await core.sql`SELECT FROM endpoint_demand WHERE endpoint_id = ${balanced}`, [], 'nothing is counted');
});

t.test('a malformed id is refused and does not affect others', async (t) => {
  const balanced = await core.createEndpoint({ ...LB, workersMax: 0 });
  const [bad, good] = [watch(0, EDGE_KEY), watch(0, EDGE_KEY)];
  const noIds = ['no\u0000suchendpoint', 'x'.repeat(200), ''];
  for (const endpointId of noIds) bad.tell({ endpointId, apiKey: '', waiting: 1 });
  await waitFor('the refusals', () => bad.refused.size === noIds.length);
  t.same(
    [...bad.refused],
    noIds.map((id) => [id.slice(0, 64), 'ENDPOINT_NOT_FOUND']),
  );
  good.tell({ endpointId: balanced, apiKey: '', waiting: 3 });
  await waitFor('the picture', () => good.latest.has(balanced));
  await waitFor(
    'the demand',
    async () => (await core.sql`SELECT FROM endpoint_demand WHERE endpoint_id = ${balanced}`).length === 1,
  );
});

t.test('a demand beyond the most of a message is refused by the beginning of its id', async (t) => {
  const client = systemTransport.openClient(EdgeServiceClient, core.replicas[0]!.address);
  const stream = client.watchRotation(callMetadata(''));
  const refused: string[] = [];
  stream
    .on('error', () => undefined)
    .on('data', ({ refusals }: WatchRotationResponse) => {
      for (const { endpointId, reason } of refusals) if (reason === 'RATE_LIMITED') refused.push(endpointId);
    });
  t.teardown(() => {
    stream.cancel();
    client.close();
  });
  const demands = Array.from({ length: 1_001 }, (_, n) =>
    EndpointDemand.fromPartial({ endpointId: n < 1_000 ? '' : 'x'.repeat(1_000_000) }),
  );
  stream.write({ reporter: '', leaves: false, demands });
  await waitFor('the refusal', () => refused.length > 0);
  t.same(refused, ['x'.repeat(64)]);
});

t.test('a stream has one reporter, whatever it names itself later', async (t) => {
  const balanced = await core.createEndpoint({ ...LB, workersMax: 0 });
  const client = systemTransport.openClient(EdgeServiceClient, core.replicas[0]!.address);
  const stream = client.watchRotation(callMetadata(''));
  stream.on('error', () => undefined).resume();
  t.teardown(() => {
    stream.cancel();
    client.close();
  });
  for (let n = 1; n <= 20; n += 1) {
    const demand = EndpointDemand.fromPartial({ endpointId: balanced, apiKey: core.key, waiting: n });
    stream.write({ reporter: `reporter${String(n).padStart(8, '0')}`, leaves: false, demands: [demand] });
  }
  const rows = () => core.sql`SELECT reporter, waiting FROM endpoint_demand WHERE endpoint_id = ${balanced}`;
  await waitFor('the last demand', async () => (await rows()).some(({ waiting }) => waiting === 20));
  t.same(await rows(), [{ reporter: 'reporter00000001', waiting: 20 }]);
});

t.test('QUEUE_DELAY is refused for a load-balancing endpoint, whose default is REQUEST_COUNT', async (t) => {
  const endpointId = await core.createEndpoint(LB);
  t.match(await read(endpointId), { scalerType: ScalerType.REQUEST_COUNT, workerConcurrency: 100 });
  await t.rejects(core.createEndpoint({ ...LB, scalerType: ScalerType.QUEUE_DELAY }), {
    reason: 'INVALID_REQUEST',
    message: /no queue/,
  });
  await t.rejects(core.updateEndpoint(endpointId, { scalerType: ScalerType.QUEUE_DELAY }), {
    reason: 'INVALID_REQUEST',
    message: /no queue/,
  });
  await t.rejects(core.createEndpoint({ workerConcurrency: 101 }), {
    reason: 'INVALID_REQUEST',
    message: /1 to 100 unless/,
  });
  await t.rejects(core.submit(endpointId), { reason: 'WRONG_ENDPOINT_TYPE', message: /load-balancing/ });
});

async function read(id: string) {
  return (await call(core.clients.endpoints, 'getEndpoint', { id, includeTemplate: false }, core.key)).endpoint!;
}
