// test: postgres, 5 s
/**
 * Alerts: a problem that lasts is sent once to each address, and its end; nothing is lost over a restart, refusals are
 * tried again, and silence is kept.
 */

import { CannotRun } from '@slipway/core/endpoints/cannot-run';
import { createAlertTarget, deleteAlertTarget, silenceAlertTarget } from '@slipway/core/reports/alert-targets';
import { Problems } from '@slipway/core/reports/problems';
import { AlertSender } from '@slipway/core/singleton-tasks/alert-sender';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { webhookReceiver } from '../../helpers/net/webhook-receiver.ts';
import { logger, startEngines } from '../../helpers/system/job-engine.ts';

const engines = await startEngines(t, { idle: true });
const { sql, stores, sealer } = engines;
const hooks = await webhookReceiver(t);
const parts = { clock: systemClock, random: systemRandom, logger };
const context = { ...stores, ...parts, sealer, allowPrivate: true, sendsMail: false };
const actor = { accountId: 'account', keyId: 'key' };
const endpointId = await engines.endpoint({ name: 'ocr' });

/** Returns a sender with nothing in memory, as after a restart of core. */
const sender = (allowPrivate = true): AlertSender => {
  const rejections = { ofEndpoint: () => [], ofAccount: () => [] };
  const cannotRun = new CannotRun(stores, systemClock);
  const problems = new Problems({ ...parts, stores, cannotRun, rejections, databaseDir: '' });
  return new AlertSender({ ...parts, stores, problems, sealer, allowPrivate, mail: undefined });
};
const begins = async (): Promise<void> => {
  await sql`INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives)
    VALUES (${endpointId}, 'job', 1, false, 3, 'the receiver <answered> 500', 0)`;
};
const ends = async (): Promise<void> => {
  await sql`DELETE FROM webhook_result`;
};
/** Moves the problems that last into the past. */
const aged = async (): Promise<void> => {
  await sql`UPDATE alert SET began_at = began_at - interval '2 min', seen_at = seen_at - interval '2 min'
    WHERE ended_at IS NULL`;
};
/** Messages about that problem, and tests: no machine can run the endpoint, which is a problem too. */
const bodies = (name: string) =>
  hooks
    .calls(name)
    .filter(({ body }) => /answered|"test"/.test(body))
    .map(({ body }) => JSON.parse(body) as { event: string });
const history = async (accountId: string) =>
  (await stores.alerts.list(accountId, 10, undefined)).filter(({ problem }) => problem.kind === 'WEBHOOKS_GIVEN_UP');
const make = (name: string, kind: 'WEBHOOK' | 'SLACK' = 'WEBHOOK', status = 200) =>
  createAlertTarget(context, actor, { name, kind, url: hooks.url(name, status) });

t.test('a problem that lasts a minute, and its end, once each', async (t) => {
  const target = await make('once');
  await make('slack', 'SLACK');
  t.notMatch(JSON.stringify(target), hooks.url('once'), 'the address is not shown');
  await begins();
  await sender().runOnce();
  t.same(bodies('once'), [], 'it has not lasted yet');
  await aged();
  for (let n = 0; n < 3; n += 1) await sender().runOnce();
  const text = 'the receiver <answered> 500';
  t.match(bodies('once'), [
    { event: 'problem.began', kind: 'WEBHOOKS_GIVEN_UP', about: 'ENDPOINT', resourceId: endpointId, name: 'ocr' },
  ]);
  t.match(JSON.stringify(bodies('once')), text);
  t.match(JSON.stringify(bodies('slack')), /Problem: endpoint ocr: .*&lt;answered&gt;/);
  await ends();
  await sender().runOnce();
  t.equal(bodies('once').length, 1, 'it was seen a moment ago');
  await aged();
  for (let n = 0; n < 3; n += 1) await sender().runOnce();
  t.match(bodies('once')[1], { event: 'problem.ended', endedAt: String });
  t.equal(bodies('slack').length, 2);
  t.match(await history('account'), [{ problem: { name: 'ocr' }, endedAt: Date }]);
  t.same(await history('other'), [], 'another account sees none of it');
  for (const { id } of await stores.alerts.targets('account')) await deleteAlertTarget(context, actor, id);
});

t.test('a problem that comes and goes is no alert', async (t) => {
  const { id } = await make('short');
  await begins();
  await sender().runOnce();
  await ends();
  await sql`UPDATE alert SET seen_at = seen_at - interval '2 min', began_at = began_at - interval '2 min'
    WHERE ended_at IS NULL`;
  await sender().runOnce();
  t.same(bodies('short'), []);
  t.equal((await history('account')).length, 1, 'nor is it in the history');
  await deleteAlertTarget(context, actor, id);
});

t.test('a refused message is tried again later, and given up at last; a silent address gets nothing', async (t) => {
  const { id } = await make('refused', 'WEBHOOK', 500);
  const silent = await make('silent');
  await silenceAlertTarget(context, actor, silent.id, 60_000);
  await begins();
  await sender().runOnce();
  await aged();
  for (let n = 0; n < 2; n += 1) await sender().runOnce();
  t.equal(bodies('refused').length, 1, 'not at once again');
  t.match(await stores.alerts.target(id, 'account'), { lastError: 'the receiver answered 500' });
  for (let n = 0; n < 10; n += 1) {
    await sql`UPDATE alert_call SET due_at = now()`;
    await sender().runOnce();
  }
  t.equal(bodies('refused').length, 8);
  t.same(await sql`SELECT * FROM alert_call`, [], 'and forgotten');
  await ends();
  t.same(bodies('silent'), []);
  t.equal(await sender().test(silent.id, 'account'), undefined, 'a test is sent all the same');
  t.match(bodies('silent'), [{ event: 'test' }]);
  t.match(await sender().test(id, 'account'), /500/);
  await t.rejects(sender().test(id, 'other'), { message: /no address/ });
});

t.test('addresses: guarded, counted, and none of another account', async (t) => {
  const guarded = { ...context, allowPrivate: false };
  const private_ = { name: 'private', kind: 'WEBHOOK', url: hooks.url('private') } as const;
  await t.rejects(createAlertTarget(guarded, actor, private_), { message: /private address/ });
  await t.rejects(createAlertTarget(context, actor, { ...private_, url: 'ftp://x' }), { message: /http/ });
  await t.rejects(createAlertTarget(context, actor, { ...private_, name: '' }), { message: /name/ });
  const { id } = await make('later-private');
  t.match(await sender(false).test(id, 'account'), /private/, 'checked again when it is called');
  await t.rejects(deleteAlertTarget(context, { ...actor, accountId: 'other' }, id), { message: /no address/ });
  await t.rejects(silenceAlertTarget(context, actor, id, 2_592_000_001), { message: /silence_ms/ });
  for (let n = (await stores.alerts.targets('account')).length; n < 20; n += 1) await make(`many-${n}`);
  await t.rejects(make('too-many'), { message: /20 addresses/ });
});

t.test('many messages of an account hold up none of another', async (t) => {
  await sql`INSERT INTO account (id, name) VALUES ('second', 'second')`;
  const [first] = await stores.alerts.targets('account');
  const other = await createAlertTarget(
    context,
    { accountId: 'second', keyId: 'key' },
    {
      ...{ name: 'second', kind: 'WEBHOOK', url: hooks.url('second') },
    },
  );
  /** Orders messages of an account, `age` seconds ago. */
  const order = async (accountId: string, targetId: string, count: number, age: number): Promise<void> => {
    await sql`
      WITH made AS (
        INSERT INTO alert (account_id, identity, problem)
        SELECT ${accountId}, 'ordered ' || n, '{}' FROM generate_series(1, ${count}::int) AS n RETURNING id
      )
      INSERT INTO alert_call (target_id, alert_id, of_end, due_at)
      SELECT ${targetId}, id, false, now() - ${age}::int * interval '1 s' FROM made`;
  };
  await order('account', first!.id, 40, 60);
  await order('second', other.id, 2, 1);
  const taken = async () =>
    (await stores.alerts.takeDue(16, 4, 60_000)).map(({ target }) => target.accountId).toSorted();
  t.same(await taken(), ['account', 'account', 'account', 'account', 'second', 'second']);
  t.same(await taken(), ['account', 'account', 'account', 'account']);
  await sql`DELETE FROM alert_call`;
});

t.test('problems of an account that cannot be recorded hold up none of another', async (t) => {
  const theirs = await engines.endpoint({ name: 'theirs', account_id: 'second' });
  await sql`INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives)
    VALUES (${theirs}, 'job', 1, false, 3, 'the receiver answered 500', 0)`;
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON alert FOR EACH ROW WHEN (NEW.account_id = 'account')
      EXECUTE FUNCTION refuse()`);
  t.teardown(() => sql`DROP FUNCTION refuse CASCADE`);
  await sender().runOnce();
  await aged();
  await sender().runOnce();
  t.match(await history('second'), [{ problem: { id: theirs } }]);
  t.match(bodies('second'), [{ event: 'problem.began', resourceId: theirs }]);
});
