// test: postgres, 10 s
/** Scarce GPUs with a real core: fair shares, reservations and preemption, and what owners read about them. */
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { L4 } from './scarce-machines.ts';

t.setTimeout(600_000);
const A40 = 'NVIDIA A40';
const A5000 = 'NVIDIA RTX A5000';

const core = await startReplicas(t);

t.test(
  'with a real core: a freed GPU goes to the account without GPUs, unless the weights say otherwise',
  async (t) => {
    const gpus = [1, 2, 3].map((n) => ({ uuid: `GPU-${n}`, name: L4, memoryMib: 24_576, migProfile: '' }));
    await core.joinAgent({ gpus });
    const small = await core.newKey(undefined, [], await core.newAccount('small'));
    const fields = { gpuIds: [L4], workersMin: 1, workersMax: 1 };
    const first = await core.createEndpoint({ ...fields, workersMin: 3, workersMax: 3 });
    await core.ready(first, 3);
    const greedy = await Promise.all([1, 2, 3, 4].map(() => core.createEndpoint(fields)));
    const throttled = async (count: number) =>
      (await core.sql`SELECT FROM scale_decision WHERE throttled > 0`).length === count;
    await waitFor('them to wait', () => throttled(4));
    const poor = [await core.createEndpoint(fields, small), await core.createEndpoint(fields, small)];
    await waitFor('all to wait', () => throttled(6));
    await core.updateEndpoint(first, { workersMin: 2, workersMax: 2 });
    await waitFor(
      "one of the small account's",
      async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length === 1,
    );
    t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length, 0);
    const quota = { workers: undefined, gpus: undefined, queuedJobs: undefined, requests: undefined, gpuWeight: 10 };
    const { account } = await call(core.clients.access, 'setQuota', { accountId: core.accountId, quota }, core.rootKey);
    t.equal(account!.quota!.gpuWeight, 10);
    await core.updateEndpoint(first, { workersMin: 1, workersMax: 1 });
    await waitFor(
      "one of the heavy account's",
      async () => (await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${greedy})`).length === 1,
    );
    t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ANY(${poor})`).length, 1);
  },
);

t.test('with a real core: a freed GPU is reserved for a worker that needs two, and both owners see why', async (t) => {
  await core.joinAgent({
    gpus: [1, 2].map((n) => ({ uuid: `GPU-A${n}`, name: A40, memoryMib: 46_068, migProfile: '' })),
  });
  const endpoint = (gpuCount: number) => core.createEndpoint({ gpuIds: [A40], gpuCount, workersMin: 1, workersMax: 1 });
  const why = async (endpointId: string) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, core.key)).explanation!;
  const limited = (endpointId: string, limit: string) =>
    waitFor(limit, async () => (await why(endpointId)).limits.some((each) => each.limit === limit), 30_000, 200);
  const running = [await endpoint(1), await endpoint(1)];
  for (const id of running) await core.ready(id, 1);
  const two = await endpoint(2);
  await limited(two, 'NO_PLACE');
  const one = await endpoint(1);
  await limited(one, 'NO_PLACE');
  await core.updateEndpoint(running[0]!, { workersMin: 0, workersMax: 0 });
  await limited(one, 'KEPT_GPUS');
  t.match(
    (await why(one)).summary,
    /free GPUs are reserved for a worker that needs 2 of one machine and has waited longer/,
  );
  await waitFor(
    'it to be told',
    async () => /1 of the 2 is free on one machine and reserved for it/.test((await why(two)).summary),
    30_000,
    200,
  );
  await core.updateEndpoint(running[1]!, { workersMin: 0, workersMax: 0 });
  await core.ready(two, 1);
  t.equal((await core.sql`SELECT FROM worker WHERE endpoint_id = ${one}`).length, 0, 'the smaller one has had none');
});

t.test('with a real core: a worker with only low-priority jobs is preempted, and finishes its job', async (t) => {
  const agent = await core.joinAgent({
    gpus: [{ uuid: 'GPU-B', name: A5000, memoryMib: 24_564, migProfile: '' }],
    onAssignment: () => undefined,
  });
  const given = (index: number) => waitFor(`assignment ${index}`, () => agent.assignments[index]);
  const endpoint = () => core.createEndpoint({ gpuIds: [A5000], workersMin: 0, workersMax: 1 });
  const low = await endpoint();
  await core.submit(low);
  const first = await given(0);
  const [running, waiting] = [await core.submit(low, {}, true), await core.submit(low, {}, true)];
  agent.finish(first.ref!);
  const second = await given(1);
  t.equal(second.ref!.jobId, running.id);
  const normal = await endpoint();
  await core.submit(normal);
  const [worker] = await waitFor('it to be asked to go', async () => {
    const rows = await core.sql`SELECT id FROM worker WHERE endpoint_id = ${low} AND desired = 'DRAIN'`;
    return rows.length > 0 && rows;
  });
  const logged = await core.sql`SELECT FROM scale_log WHERE endpoint_id = ${normal}
      AND actions @> ${core.sql.json([{ do: 'PREEMPT', workerId: worker!.id }])}`;
  t.equal(logged.length, 1, 'the log tells who had to go');
  const { decisions } = await call(
    core.clients.endpoints,
    'listDecisions',
    { endpointId: normal, pageSize: 0, beforeId: 0 },
    core.key,
  );
  t.match(
    decisions.find(({ actions }) => actions.length > 0)?.actions,
    [{ kind: 'PREEMPT', workerId: '' }],
    'its owner is not told whose worker it was',
  );
  const why = async (endpointId: string) =>
    (await call(core.clients.endpoints, 'explain', { endpointId }, core.key)).explanation!;
  t.match(
    (await why(normal)).summary,
    /; a worker with only low-priority jobs is preempted after its current jobs\. To change that: free 1 GPU/,
  );
  const needed = new RegExp(`endpoint ${normal} of this account need`);
  t.match(
    (await why(low)).workers,
    [{ state: 'DRAINING', reason: needed }],
    "and the worker's owner who needs its GPU",
  );
  await core.sql`UPDATE endpoint SET account_id = ${await core.newAccount('other')} WHERE id = ${normal}`;
  const { limits, workers } = await why(low);
  t.match(
    limits.find(({ limit }) => limit === 'GAVE_WAY'),
    { cut: 1, text: /because another account that has fewer GPUs for its weight needed the GPUs/ },
  );
  t.notMatch(JSON.stringify({ limits, workers }), new RegExp(normal), "but nothing of another account's endpoint");
  await core.sql`UPDATE endpoint SET account_id = ${core.accountId} WHERE id = ${normal}`;
  agent.finish(second.ref!);
  t.equal((await given(2)).ref!.endpointId, normal, 'its GPU goes to the job of normal priority');
  t.match(await core.wait(low, running.id), { state: JobState.COMPLETED, attempt: 1 });
  t.match(await core.get(low, waiting.id), { state: JobState.IN_QUEUE });
});
