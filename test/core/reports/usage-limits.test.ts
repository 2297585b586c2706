// test: postgres
/** Usage that is too much to sum up is rejected, and one account never holds up another. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { UsageBucket, UsageGrouping } from '@slipway/proto/gen/slipway/v1/usage_service';
import t from 'tap';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { at, usage } from './usage-calls.ts';

t.setTimeout(600_000);

/** Workers that all began at the same time. */
const addMany = (core: CoreReplicas, count: number, hours: number) => core.sql`
  INSERT INTO usage_span (account_id, kind, subject_id, started_at, ended_at)
  SELECT ${core.accountId}, 'WORKER', 's' || n, '2026-03-01', timestamptz '2026-03-01' + ${hours}::int * interval '1 h'
  FROM generate_series(1, ${count}::int) n`;

t.test('a sum over too much is refused before it costs anything', async (t) => {
  const core = await startReplicas(t);
  await addMany(core, 1_000, 600);
  const hourly = { bucket: UsageBucket.HOUR, grouping: UsageGrouping.SUBJECT };
  t.match(await reasonOf(usage(core, hourly)), /^INVALID_REQUEST: this is too much to sum up at once/);
  t.match(
    await reasonOf(usage(core, { ...hourly, endTime: at('2026-03-05T00:00') })),
    /^INVALID_REQUEST: this is too much/,
    'too many records',
  );
  t.equal(
    (await usage(core, { ...hourly, grouping: UsageGrouping.GPU_TYPE, endTime: at('2026-03-05T00:00') })).length,
    96,
    'few groups',
  );
  t.equal((await usage(core, { ...hourly, subjectId: 's7' })).length, 600);
});

t.test('one account runs few sums at once, and does not delay others', async (t) => {
  const core = await startReplicas(t);
  await addMany(core, 400, 600);
  const stranger = await core.newKey(KeyScope.ALL, [], await core.newAccount());
  const asked = { bucket: UsageBucket.HOUR, grouping: UsageGrouping.GPU_TYPE };
  const all = Array.from({ length: 12 }, () =>
    usage(core, asked).then(
      (records) => records.length,
      (error: Error) => error.message,
    ),
  );
  const other = await usage(core, asked, stranger);
  t.same(other, []);
  const answers = await Promise.all(all);
  t.equal(answers.filter((answer) => answer === 600).length, 4);
  t.equal(answers.filter((answer) => /try again shortly/.test(String(answer))).length, 8);
});
