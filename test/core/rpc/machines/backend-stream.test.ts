// test: postgres, 20 s
/**
 * The stream of facades: where the workers of load-balancing endpoints are, and what there is to do for them. Two
 * replicas, a scripted agent.
 */
import type { DesiredWorker } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { readMetrics, valueOf } from '../../../helpers/system/metrics.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { LB, watchReplica } from './rotation-watch.ts';

t.setTimeout(600_000);
const EDGE_KEY = 'edge-key-of-this-test-0123456789';
const core = await startReplicas(t, 2, { SLIPWAY_EDGE_KEY: EDGE_KEY, SLIPWAY_METRICS_LISTEN: '127.0.0.1:0' });
const agent = await core.joinAgent({ startWorkers: false });

const watch = (replica: number, edgeKey = '', reporter = '') => watchReplica(t, core, replica, edgeKey, reporter);
const reported = (
  workerId: string,
  endpointId: string,
  health: HttpHealth,
  state: WorkerState = WorkerState.READY,
): void => agent.send({ workers: [{ workerId, endpointId, state, address: '127.0.0.1:20001', health }] });

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

t.test(
  'each demand is answered when it names another version than the current one, and the version is that of the content',
  async (t) => {
    const endpointId = await core.createEndpoint(LB);
    const another = await core.createEndpoint(LB);
    const [facade, other] = [watch(0), watch(1)];
    const countOf = (id: string): number => facade.received.filter((backends) => backends.endpointId === id).length;
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

async function read(id: string) {
  return (await call(core.clients.endpoints, 'getEndpoint', { id, includeTemplate: false }, core.key)).endpoint!;
}
