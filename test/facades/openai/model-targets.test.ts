/** The facade's cache of core's decisions on models. */
import { ModelTargets } from '@slipway/facades/openai/model-targets';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { CoreError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const target = (endpointId: string, share = 1) => ({ endpointId, type: EndpointType.QB, share, workerModel: '' });

t.test('a decision is cached for its time, for its key and model alone', async (t) => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const targets = new ModelTargets(
    async (key, model) => {
      asked.push(`${key} ${model}`);
      return { targets: [target(`of ${model}`)], validMs: 500 };
    },
    clock,
    seededRandom(1),
  );
  t.equal((await targets.pick('k', 'm')).endpointId, 'of m');
  await Promise.all([targets.pick('k', 'm'), targets.pick('l', 'm'), targets.pick('l', 'm'), targets.pick('k', 'n')]);
  t.same(asked, ['k m', 'l m', 'k n'], 'questions under way are shared');
  clock.pass(499);
  await targets.pick('k', 'm');
  t.equal(asked.length, 3);
  clock.pass(1);
  await targets.pick('k', 'm');
  t.equal(asked.length, 4);
});

t.test('a rejection is not kept', async (t) => {
  let isThere = false;
  const targets = new ModelTargets(
    async () => {
      if (!isThere) throw new CoreError('MODEL_NOT_FOUND', 'none');
      return { targets: [target('a')], validMs: 1_000 };
    },
    new ManualClock(),
    seededRandom(1),
  );
  await t.rejects(targets.pick('k', 'm'), /none/);
  isThere = true;
  t.equal((await targets.pick('k', 'm')).endpointId, 'a');
});

t.test("requests are distributed by core's weights", async (t) => {
  const targets = new ModelTargets(
    async () => ({ targets: [target('a', 3), target('b', 1)], validMs: 1_000 }),
    new ManualClock(),
    seededRandom(7),
  );
  const counts: Record<string, number> = { a: 0, b: 0 };
  for (let n = 0; n < 4_000; n += 1) counts[(await targets.pick('k', 'm')).endpointId]! += 1;
  t.ok(counts['a']! > 2_800 && counts['a']! < 3_200, JSON.stringify(counts));
});
