// test: postgres
/** Explanations of workers that serve nothing: crashed, starting, not ready, or on a machine that is not connected. */
import { summarizeEndpoint } from '@slipway/core/domain/reports/explanation';
import { CRASH_CHANGE } from '@slipway/core/domain/reports/what-would-change';
import { explainWorker } from '@slipway/core/domain/reports/worker-explanation';
import type { ScaleLimit } from '@slipway/core/domain/scaling/scale-target';
import type { ScaleSettings, WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const core = await startReplicas(t);
const { clients, key } = core;
const why = async (endpointId: string, apiKey = key) =>
  (await call(clients.endpoints, 'explain', { endpointId }, apiKey)).explanation!;
const whyJob = async (endpointId: string, jobId: string, apiKey = key) =>
  (await call(clients.jobs, 'explain', { endpointId, jobId }, apiKey)).explanation!;

t.test('a disconnected machine: its workers are not called idle, busy or resuming', async (t) => {
  const gone = await core.joinAgent({
    gpus: [{ ...L4, uuid: 'GPU-2', name: 'NVIDIA A10' }],
    onAssignment: () => undefined,
  });
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA A10'], workersMin: 0, workersMax: 1 });
  const first = await core.submit(endpointId);
  await waitFor('it to run', () => gone.assignments.length === 1);
  const { id } = await core.submit(endpointId);
  gone.drop();
  await waitFor('that it is away', async () => (await why(endpointId)).workers[0]?.state === 'AWAY');
  t.match(
    (await whyJob(endpointId, id)).summary,
    /^It waits in place 1\. .* Its only worker is away \(its machine is not connected; it is given up/,
  );
  t.match(
    (await whyJob(endpointId, first.id)).summary,
    /^It runs on worker \w+ as attempt 1, but its machine is not connected: .* tried again\.$/,
  );
  const frozen = { id: 'w', state: 'FROZEN', desired: 'FREEZE', held: 0, reachable: false } as WorkerSample;
  const reason = (away: boolean): string =>
    explainWorker(frozen, { workersMax: 3 } as ScaleSettings, { report: '', preemption: '', away }).reason;
  t.same([true, false].map(reason), [
    'it is on standby and does not resume while its machine is not connected',
    'it is on standby and does not resume while its machine is cordoned',
  ]);
  await core.updateEndpoint(endpointId, { workersMax: 0 });
});

t.test(
  'of a load-balancing endpoint requests are told; the only worker, and a first crash, are not counted',
  async (t) => {
    const balanced = await core.createEndpoint({
      type: EndpointType.LB,
      workersMin: 0,
      workersMax: 0,
      scalerValue: 10,
    });
    t.match(
      (await why(balanced)).summary,
      /^No request waits and none runs\. There are no workers; the scaler says: there are no requests\.$/,
    );
    const crashed = { id: 'w', state: 'UNHEALTHY', failures: 1, retryDue: true, held: 0 } as WorkerSample;
    const settings = { workersMax: 3 } as ScaleSettings;
    let refusal = '';
    let told = 'no such image';
    let limits: ScaleLimit[] = [];
    const mend = ` To change that: ${CRASH_CHANGE}.`;
    const summary = (...workers: WorkerSample[]): string =>
      summarizeEndpoint(
        { queued: 1, running: 0, oldestWaitMs: 0, workers },
        settings,
        workers.map((worker) => explainWorker(worker, settings, { report: told, preemption: '', away: false })),
        { what: 'job', low: 0, reason: 'r', cannotRun: '', refusal, limits, machines: [], starved: 0 },
      );
    const jobs = 'At least one job waits and none runs.';
    t.equal(
      summary(crashed),
      `${jobs} Its only worker crashed (it crashed; another worker replaces it: no such image).${mend}`,
    );
    const again = { ...crashed, failures: 2 };
    t.equal(
      summary(again, again),
      `${jobs} 2 of 2 workers crashed (it crashed, 2 times in a row; ` +
        `another worker replaces it: no such image).${mend}`,
    );
    const starting = { ...crashed, state: 'INITIALIZING', failures: 0 } as WorkerSample;
    t.equal(summary(starting), `${jobs} Its only worker starts (it has not asked for work yet: no such image).`);
    t.match(
      summary({ ...starting, failures: 1 }),
      /work yet, and the one before it crashed \(slipway workers shows how\): no such/,
    );
    t.match(
      summary({ ...starting, failures: 3 }),
      /work yet, and 3 in a row before it crashed \(.* To change that: fix the cause in its reason or last log lines/,
    );
    refusal = 'no machine has a free GPU';
    t.equal(
      summary(),
      `${jobs} Workers cannot be placed: no machine has a free GPU. To change that: join a machine (slipway agent).`,
    );
    const cause = 'Its only worker crashed (it crashed; another worker replaces it: no such image).';
    t.equal(
      summary(crashed),
      `${jobs} ${cause} Further workers cannot be placed: no machine has a free GPU.${mend}`,
      'the cause comes first',
    );
    const busy = { ...crashed, state: 'READY', failures: 0, held: 1 } as WorkerSample;
    refusal = '';
    t.match(summary(busy), /the scaler says: r\. To change that: a lower scalerValue starts further workers sooner\.$/);
    const idle = { ...busy, held: 0 };
    t.match(summary(idle), /There is one worker, which is idle; the scaler says: r\.$/);
    t.match(summary(idle, idle), /There are 2 workers, all idle;/);
    t.match(summary(idle, busy), /There are 2 workers, 1 of them idle;/);
    limits = [{ limit: 'WORKERS_MAX', cut: 1, text: 'workersMax is 1' }];
    t.match(summary(busy), / To change that: raise workersMax\.$/);
    told =
      'The worker ended with exit code 3. Its last lines:\n' +
      'Traceback (most recent call last):\n' +
      '  File "handler.py"\n' +
      'No module named torch\n';
    t.match(
      summary(crashed),
      / crashed \(it crashed; another worker replaces it: The worker ended with exit code 3. Its last lines: … No module named torch\)\./,
      'with what the worker said last',
    );
    told = 'The worker ended with exit code 3. Its last lines:\nboom';
    t.match(summary(crashed), /code 3. Its last lines: boom\)\./);
  },
);

t.test(
  'a server that is not ready: what its health path answers, while it starts and when it was ready before',
  async (t) => {
    const serving = await core.joinAgent({
      gpus: [{ ...L4, uuid: 'GPU-5', name: 'NVIDIA RTX A5000' }],
      startWorkers: false,
    });
    const endpointId = await core.createEndpoint({
      type: EndpointType.LB,
      gpuIds: ['NVIDIA RTX A5000'],
      workersMin: 1,
      workersMax: 1,
    });
    const { workerId } = await waitFor('its worker', () =>
      serving.desired.find((worker) => worker.endpointId === endpointId),
    );
    const tell = (state: WorkerState, health: HttpHealth, reason = ''): void => {
      serving.send({ workers: [{ workerId, endpointId, state, capacity: 0, address: '127.0.0.1:9', health, reason }] });
    };
    const seen = async (text: string) =>
      waitFor(text, async () => {
        const explained = await why(endpointId);
        // The machine is new, and the list of machines is only read now and then.
        return (
          explained.workers[0]?.reason.includes(text) && !explained.summary.includes('can ever start') && explained
        );
      });
    tell(WorkerState.INITIALIZING, HttpHealth.UNHEALTHY, 'its server answers GET /ping on port 8000 with 404 for 55 s');
    const starting = await seen('with 404 for 55 s');
    t.match(starting.workers, [{ state: 'STARTING', reason: /^it is not ready yet: its server answers/ }]);
    t.match(
      starting.summary,
      /^No request waits and none runs\. There is one worker, not ready \(it is not ready yet: its server answers .* 404 for 55 s\)\.$/,
    );
    tell(WorkerState.READY, HttpHealth.READY);
    const idle = await seen('it can take a request');
    t.match(idle.workers, [{ state: 'IDLE' }]);
    tell(WorkerState.READY, HttpHealth.UNHEALTHY, 'nothing listens on port 8000');
    t.match((await seen('nothing listens on port 8000')).workers, [
      { state: 'UNREADY', reason: /^it is not ready any more, and gets no requests/ },
    ]);
    t.match(await call(clients.machines, 'listWorkers', { endpointId }, key), {
      workers: [{ reason: 'nothing listens on port 8000' }],
    });
    await core.updateEndpoint(endpointId, { workersMin: 0, workersMax: 0 });
  },
);
