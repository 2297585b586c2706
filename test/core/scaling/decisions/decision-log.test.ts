// test: postgres, 10 s
/** The log of decisions: only new decisions, each with a sample that gives the same decision again; bounded. */

import type { Decision, DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import { DecisionReaper } from '@slipway/core/singleton-tasks/decision-reaper';
import { logDecisions, SAMPLE_BYTES_MAX } from '@slipway/core/store/scaling/scale-log-rows';
import type { Sql } from '@slipway/core/store/sql/database';
import { openStorage } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
const core = await startReplicas(t);
const agent = await core.joinAgent({ gpus: [L4] });

type Row = Decision & { sample: DecisionSample; refusal_by_machine: string };
const logOf = (endpointId: string) =>
  core.sql<Row[]>`SELECT * FROM scale_log WHERE endpoint_id = ${endpointId} ORDER BY id`;

t.test(
  'lifecycle of an endpoint: each decision is logged with reason, limits and a sample that replays to it',
  async (t) => {
    const endpointId = await core.createEndpoint({
      gpuIds: ['NVIDIA L4'],
      workersMin: 0,
      workersMax: 2,
      scalerType: ScalerType.REQUEST_COUNT,
      scalerValue: 1,
      idleTimeoutSeconds: 1,
    });
    const jobs = await Promise.all([core.submit(endpointId), core.submit(endpointId), core.submit(endpointId)]);
    for (const { id } of jobs) await core.wait(endpointId, id);
    await waitFor('it to be at zero again', async () => (await logOf(endpointId)).at(-1)?.actions[0]?.do === 'DRAIN');
    const log = await logOf(endpointId);
    const added = log.find(({ actions }) => actions.some((action) => action.do === 'ADD'));
    t.match(added, { actions: [{ do: 'ADD', gpuUuids: ['GPU-1'] }], numbers: { workers: { present: 0 } } });
    const cut = log.find(({ limits }) => limits.some(({ limit }) => limit === 'NO_PLACE'));
    t.match(
      cut,
      { throttled: 1, refusal: /too few of them free/, refusal_by_machine: /GPUs asked for are free/ },
      'one GPU, and two workers wished',
    );
    const over = log.find(({ wished }) => wished > 2);
    t.match(
      over,
      { target: 2, reason: /one worker for every 1 jobs, but workersMax is 2/, limits: [{ limit: 'WORKERS_MAX' }] },
      'the true reason of the number',
    );
    for (const row of log) {
      const { refusalByMachine, rollout: _, ...again } = decide(row.sample);
      t.match(row, { ...again, refusal_by_machine: refusalByMachine }, `${row.reason}: the same again`);
    }
  },
);

t.test('an unchanged decision writes nothing', async (t) => {
  const endpointId = await core.createEndpoint({ gpuIds: ['NVIDIA L4'], workersMin: 1 });
  await core.ready(endpointId);
  await waitFor('the decision after it', async () => (await logOf(endpointId)).length >= 1);
  const settled = async () => {
    const [row] = await core.sql<{ n: string; at: string }[]>`
      SELECT (SELECT count(*) FROM scale_log) AS n, (SELECT string_agg(xmin::text, ',') FROM scale_decision) AS at`;
    return JSON.stringify(row);
  };
  // Several resyncs run while an agent's machine renews its lease three times.
  const lease = async () => (await core.sql`SELECT lease_expires_at::text AS at FROM machine`)[0]!.at as string;
  const look = async (): Promise<string> => {
    const first = await lease();
    await waitFor('a heartbeat', async () => (await lease()) !== first);
    return settled();
  };
  const before = await look();
  t.equal(await look(), before);
  t.equal(await look(), before);
  t.equal(agent.desired.length, 1);
});

t.test('samples up to 64 KiB are logged; a decision over a larger one is logged without it', async (t) => {
  const sampleOf = (imageName: string): DecisionSample => ({
    demand: { queued: 1, oldestWaitMs: 0, running: 0, workers: [] },
    settings: {
      workersMin: 0,
      workersMax: 3,
      idleTimeoutSeconds: 5,
      scalerType: 'QUEUE_DELAY',
      scalerValue: 4,
      flashBoot: false,
      version: 0,
      imageName,
      gpuIds: [],
      gpuCount: 0,
      instanceIds: [],
      locations: [],
      allowedCudaVersions: [],
      dataCenterIds: [],
    },
  });
  const bytesOf = (sample: DecisionSample): number => Buffer.byteLength(JSON.stringify(sample));
  // Each of two bytes: the limit is in bytes.
  const room = SAMPLE_BYTES_MAX - bytesOf(sampleOf(''));
  const atLimit = sampleOf('é'.repeat(Math.floor(room / 2)) + 'i'.repeat(room % 2));
  const over = sampleOf(`${atLimit.settings.imageName}i`);
  t.same([SAMPLE_BYTES_MAX, bytesOf(atLimit), bytesOf(over)], [65_536, 65_536, 65_537]);
  const kept = await core.createEndpoint({ workersMin: 0 });
  const left = await core.createEndpoint({ workersMin: 0 });
  await waitFor('their own decisions', async () => (await logOf(kept)).length + (await logOf(left)).length === 2);
  const turns = [
    { endpointId: kept, sample: atLimit },
    { endpointId: left, sample: over },
  ].map((turn) => ({ ...turn, decision: decide(turn.sample) }));
  await logDecisions(core.sql as unknown as Sql, turns);
  const latest = async (endpointId: string) => (await logOf(endpointId)).at(-1) as Row & { sample_bytes: number };
  const row = await latest(kept);
  t.same([row.sample, row.sample_bytes], [atLimit, 65_536]);
  t.match(row, { reason: decide(row.sample).reason, target: 1 }, 'and gives the same again');
  t.match(await latest(left), {
    sample: null,
    sample_bytes: 65_537,
    reason: decide(over).reason,
    target: 1,
    numbers: { queued: 1 },
  });
});

t.test('the log is bounded by number and age', async (t) => {
  const endpointId = await core.createEndpoint({ workersMin: 0 });
  const other = await core.createEndpoint({ workersMin: 0 });
  await core.sql`
    INSERT INTO scale_log (endpoint_id, decided_at, target, wished, throttled, reason, limits, numbers, actions,
      refusal, refusal_by_machine, sample_bytes)
    SELECT e.id, now() - e.age::interval, n, 0, 0, 'test', '[]', '{}', '[]', '', '', 0
    FROM generate_series(1, 1200) n, (VALUES (${endpointId}, '1 day'), (${other}, '8 days')) e (id, age)`;
  const edge = await core.createEndpoint({ workersMin: 0 });
  await core.sql`
    INSERT INTO scale_log (endpoint_id, decided_at, target, wished, throttled, reason, limits, numbers, actions,
      refusal, refusal_by_machine, sample_bytes)
    SELECT ${edge}, now() - age::interval, n, 0, 0, 'edge', '[]', '{}', '[]', '', '', 0
      FROM (VALUES (1, '7 days 1 min'), (2, '6 days 23 h')) e (n, age)`;
  const logger = createLogger('test', 'silent');
  const storage = openStorage(core.url, new Sealer('00'.repeat(32)), logger);
  t.teardown(() => storage.close());
  const reaper = new DecisionReaper({ stores: storage.stores, clock: systemClock, random: systemRandom, logger });
  t.ok((await reaper.runOnce()) >= 1_400);
  const kept = await core.sql`
    SELECT endpoint_id, count(*)::int AS n, min(target) FILTER (WHERE reason = 'test') > 200 AS newest FROM scale_log
    WHERE endpoint_id IN (SELECT endpoint_id FROM scale_log WHERE reason = 'test') GROUP BY 1`;
  t.same([...kept], [{ endpoint_id: endpointId, n: 1_000, newest: true }], 'the newest stay');
  t.same(
    [...(await core.sql`SELECT target FROM scale_log WHERE reason = 'edge'`)],
    [{ target: 2 }],
    'seven days, and not an hour less',
  );
});
