// test: postgres, 20 s
/**
 * The stream of facades: where the workers of load-balancing endpoints are, and what there is to do for them. Two
 * replicas, a scripted agent.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import type {
  EndpointRotation,
  WatchRotationRequest,
  WatchRotationResponse,
} from '@slipway/proto/gen/slipway/v1/edge_service';
import { EdgeServiceClient, EndpointDemand } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EndpointType, ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../../helpers/system/metrics.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const EDGE_KEY = 'edge-key-of-this-test-0123456789';
const core = await startReplicas(t, 2, { SLIPWAY_EDGE_KEY: EDGE_KEY, SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
const agent = await core.joinAgent({ startWorkers: false });
const LB = { type: EndpointType.LB, workersMin: 0, scalerValue: 10, idleTimeoutSeconds: 1 };

/** A facade's stream to one replica. */
function watch(replica: number, edgeKey = '', reporter = '') {
  const client = systemTransport.openClient(EdgeServiceClient, core.replicas[replica]!.address);
  const stream: ClientDuplexStream<WatchRotationRequest, WatchRotationResponse> = client.watchRotation(
    callMetadata(edgeKey),
  );
  const latest = new Map<string, EndpointRotation>();
  const refused = new Map<string, string>();
  const received: EndpointRotation[] = [];
  stream.on('data', ({ rotations, refusals }: WatchRotationResponse) => {
    received.push(...rotations);
    for (const rotation of rotations) latest.set(rotation.endpointId, rotation);
    for (const { endpointId, reason } of refusals) refused.set(endpointId, reason);
  });
  stream.on('error', () => undefined);
  const tell = (demand: Partial<EndpointDemand>): void => {
    stream.write({ reporter, leaves: false, demands: [EndpointDemand.fromPartial({ apiKey: core.key, ...demand })] });
  };
  const close = (): void => {
    stream.cancel();
    client.close();
  };
  t.teardown(close);
  return { latest, received, refused, tell, close, leave: () => stream.end({ reporter, leaves: true, demands: [] }) };
}

const reported = (
  workerId: string,
  endpointId: string,
  health: HttpHealth,
  state: WorkerState = WorkerState.READY,
): void => agent.send({ workers: [{ workerId, endpointId, state, address: '127.0.0.1:20001', health }] });

t.test("who has the edges' key needs no key of an account; nobody else does without", async (t) => {
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

t.test(
  'from zero: a request that waits starts a worker, its health brings it in and out, and when nobody needs it it ' +
    'is drained and idle',
  async (t) => {
    const endpointId = await core.createEndpoint(LB);
    const facade = watch(0);
    const other = watch(1);
    facade.tell({ endpointId });
    other.tell({ endpointId });
    await waitFor('the empty picture', () => facade.latest.has(endpointId) && other.latest.has(endpointId));
    t.match(facade.latest.get(endpointId), { workerConcurrency: 100, keepsConnections: true, workers: [] });

    facade.tell({ endpointId, waiting: 1 });
    const first = await waitFor('a worker', (): DesiredWorker | undefined => agent.desired[0]);
    t.match(first.spec?.httpServer, { port: 80, healthPort: 80, healthPath: '/ping' });
    const { workerId } = first!;
    reported(workerId, endpointId, HttpHealth.INITIALIZING, WorkerState.INITIALIZING);
    await waitFor('its address', () => facade.latest.get(endpointId)?.workers[0]?.address === '127.0.0.1:20001');
    t.equal(facade.latest.get(endpointId)?.workers[0]?.ready, false, '204 is not ready');
    for (const [health, ready] of [
      [HttpHealth.READY, true],
      [HttpHealth.UNHEALTHY, false],
      [HttpHealth.READY, true],
    ] as const) {
      reported(workerId, endpointId, health);
      await waitFor(`ready: ${ready}`, () =>
        [facade, other].every(({ latest }) => latest.get(endpointId)?.workers[0]?.ready === ready),
      );
    }

    agent.send({
      workers: [
        {
          workerId,
          endpointId,
          state: WorkerState.READY,
          address: '127.0.0.1:20001',
          health: HttpHealth.READY,
          singleUse: true,
        },
      ],
    });
    await waitFor(
      'the word that connections are for one request',
      () => facade.latest.get(endpointId)?.keepsConnections === false,
    );

    facade.tell({ endpointId, waiting: 0, workers: [{ workerId, inFlight: 11 }] });
    await waitFor('a worker for every 10 requests', () => agent.desired.length > 1);
    const health = await call(core.clients.jobs, 'getHealth', { endpointId }, core.key);
    t.match(health, {
      jobs: { inProgress: 11, inQueue: 0 },
      workers: { running: 1, initializing: 1, ready: 1, idle: 0 },
    });

    const second = agent.desired.find((worker) => worker.workerId !== workerId)!.workerId;
    reported(second, endpointId, HttpHealth.READY);
    await waitFor('one of two again', () => {
      // A demand that is not repeated no longer counts.
      facade.tell({ endpointId, waiting: 0, workers: [{ workerId, inFlight: 1 }] });
      return agent.desired.find((worker) => worker.workerId === second)?.desired !== DesiredState.RUN;
    });
    t.ok(
      agent.desired.find((worker) => worker.workerId === workerId && worker.desired === DesiredState.RUN),
      'the busy one stays',
    );
    facade.tell({ endpointId, waiting: 0 });
    await waitFor(
      'the drain, and the word that it is idle',
      () => agent.desired.find((worker) => worker.workerId === workerId)?.idle,
    );
    // The two are sent on separate streams.
    await waitFor('what drains to be in no rotation', () =>
      facade.latest.get(endpointId)?.workers.every((worker) => worker.workerId !== workerId),
    );
  },
);

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

t.test(
  'each demand is answered when it names another version than the current one, and the version is that of the content',
  async (t) => {
    const endpointId = await core.createEndpoint(LB);
    const another = await core.createEndpoint(LB);
    const [facade, other] = [watch(0), watch(1)];
    const countOf = (id: string): number => facade.received.filter((rotation) => rotation.endpointId === id).length;
    /**
     * Returns the number of answers to a demand. Answers come in order: all answers to the first demand have arrived
     * once the second is answered.
     */
    const asked = async (version: string | undefined): Promise<number> => {
      const [before, others] = [countOf(endpointId), countOf(another)];
      facade.tell({ endpointId, version });
      facade.tell({ endpointId: another, version: '' });
      await waitFor('an answer to the one behind it', () => countOf(another) > others);
      return countOf(endpointId) - before;
    };
    facade.tell({ endpointId, version: '' });
    other.tell({ endpointId, version: '' });
    await waitFor('the rotation', () => facade.latest.has(endpointId) && other.latest.has(endpointId));
    const { version } = facade.latest.get(endpointId)!;
    t.match(version, /^[\w-]{22}$/);
    t.equal(other.latest.get(endpointId)?.version, version, 'the same of another replica');
    t.equal(await asked(version), 0, 'nothing when it has it');
    t.equal(await asked(''), 1, 'again when it has none');
    t.equal(await asked('older'), 1, 'again when it has another');
    t.equal(await asked(undefined), 1, 'always when it knows no versions');
    const late = watch(1);
    late.tell({ endpointId, version });
    late.tell({ endpointId: another, version: '' });
    await waitFor('an answer', () => late.latest.has(another));
    t.notOk(late.latest.has(endpointId), 'a new stream of one that has it gets nothing');
    const [first, ...rest] = await Promise.all([
      readMetrics(core.replicas[0]!.metrics),
      readMetrics(core.replicas[1]!.metrics),
    ]);
    t.same(
      [first, ...rest].map((metrics) => valueOf(metrics!, 'slipway_core_backends_resent_total')),
      [0, 0],
      'none of these should have had it',
    );
    await waitFor('it to be counted when it says the same for seconds', async () => {
      facade.tell({ endpointId, version: 'older' });
      return valueOf(await readMetrics(core.replicas[0]!.metrics), 'slipway_core_backends_resent_total') > 0;
    });
  },
);

t.test(
  'workers that are too many are named, no worker is added beside one without a request, and requests that wait ' +
    'there are a problem',
  async (t) => {
    const endpointId = await core.createEndpoint({
      ...LB,
      workersMin: 0,
      workersMax: 3,
      scalerValue: 4,
      idleTimeoutSeconds: 600,
    });
    const facade = watch(0);
    const own = () => agent.desired.filter((worker) => worker.endpointId === endpointId);
    facade.tell({ endpointId, waiting: 8 });
    const ids = await waitFor('two workers', () =>
      own().length === 2 ? own().map(({ workerId }) => workerId) : undefined,
    );
    for (const workerId of ids) reported(workerId, endpointId, HttpHealth.READY);
    const surplus = (): string[] =>
      facade.latest
        .get(endpointId)!
        .workers.filter((worker) => worker.surplus)
        .map(({ workerId }) => workerId);
    facade.tell({
      endpointId,
      workers: [
        { workerId: ids[0]!, inFlight: 4 },
        { workerId: ids[1]!, inFlight: 2 },
      ],
    });
    await waitFor(
      'both ready and wanted',
      () => facade.latest.get(endpointId)?.workers.filter(({ ready }) => ready).length === 2 && surplus().length === 0,
    );
    t.equal(facade.latest.get(endpointId)?.requestsPerWorker, 4);
    facade.tell({
      endpointId,
      workers: [
        { workerId: ids[0]!, inFlight: 2 },
        { workerId: ids[1]!, inFlight: 2 },
      ],
    });
    await waitFor('one that is too many', () => surplus().length === 1);

    const why = () => call(core.clients.endpoints, 'explain', { endpointId }, core.key);
    const problems = async () =>
      (await call(core.clients.problems, 'listProblems', { limit: 0, endpointId }, core.key)).problems;
    const tellWaiting = (): void =>
      facade.tell({ endpointId, waiting: 9, workers: [{ workerId: ids[0]!, inFlight: 4 }] });
    await waitFor('the problem', async () => {
      tellWaiting();
      return (await problems()).some(({ kind }) => kind === 'WORKERS_NOT_USED');
    });
    const text =
      /^9 requests have waited for more than 3 s beside a ready worker that has none: a facade does not know/;
    t.match((await problems())[0], { broken: true, text });
    t.match((await why()).explanation?.summary, /a facade does not know its workers/);
    t.equal(own().length, 2, 'no third worker, which 13 requests would want');
    facade.tell({
      endpointId,
      waiting: 9,
      workers: [
        { workerId: ids[0]!, inFlight: 4 },
        { workerId: ids[1]!, inFlight: 1 },
      ],
    });
    await waitFor('a third once both have some', () => own().length === 3);
    await waitFor(
      'the problem to be over',
      async () => !(await problems()).some(({ kind }) => kind === 'WORKERS_NOT_USED'),
    );
    await core.updateEndpoint(endpointId, { workersMax: 0 });
  },
);

t.test('what is no id is refused and keeps nothing from the others', async (t) => {
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

t.test(
  'a stream that ends in order takes its demand with it, one that breaks does not, and a deleted endpoint is refused',
  async (t) => {
    const endpointId = await core.createEndpoint({ ...LB, workersMax: 0 });
    const facade = watch(1);
    facade.tell({
      endpointId,
      waiting: 3,
      workers: [
        { workerId: 'abcdefghijklmn', inFlight: 2 },
        { workerId: 'no id', inFlight: 2 },
      ],
    });
    const rows = () =>
      core.sql`SELECT waiting, worker_ids, in_flight FROM endpoint_demand WHERE endpoint_id = ${endpointId}`;
    await waitFor('the demand', async () => (await rows()).length === 1);
    t.match([...(await rows())], [{ waiting: 3, worker_ids: ['abcdefghijklmn'], in_flight: [2] }]);
    facade.leave();
    await waitFor('its end', async () => (await rows()).length === 0);
    const name = 'abcdefgh12345678';
    const broken = watch(1, '', name);
    broken.tell({ endpointId, waiting: 3 });
    await waitFor('its demand', async () => (await rows()).length === 1);
    broken.close();
    const other = watch(0);
    other.tell({ endpointId, waiting: 1 });
    await waitFor('both', async () => (await rows()).length === 2);
    t.same(
      (await rows()).map(({ waiting }) => Number(waiting)).sort(),
      [1, 3],
      'the broken one has said nothing of an end',
    );
    const next = watch(0, '', name);
    next.tell({ endpointId, waiting: 2 });
    await waitFor(
      'its word on another stream to take the place',
      async () =>
        (await rows())
          .map(({ waiting }) => Number(waiting))
          .sort()
          .join() === '1,2',
    );
    next.tell({ endpointId });
    await waitFor('the picture', () => next.latest.has(endpointId));
    await call(
      core.clients.endpoints,
      'updateEndpoint',
      { endpoint: { ...(await read(endpointId)), workersMin: 0 }, updateMask: ['workers_min'] },
      core.key,
    );
    await call(core.clients.endpoints, 'deleteEndpoint', { id: endpointId }, core.key);
    await waitFor('its end', () => next.refused.get(endpointId) === 'ENDPOINT_NOT_FOUND');
    t.equal(next.refused.size, 1);
  },
);

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
