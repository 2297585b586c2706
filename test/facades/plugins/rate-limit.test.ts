/** Limits of one account's concurrent requests at a facade, over any number of endpoints. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { RejectionListeners } from '@slipway/facades/plugins/limits/rate-limit';
import { RateLimit } from '@slipway/facades/plugins/limits/rate-limit';
import { RATE_RULES } from '@slipway/facades/plugins/limits/rate-limit-rules';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import { RequestLimit } from '@slipway/proto/gen/slipway/v1/edge_service';
import { FACADE_REQUESTS_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';

/** Delays end at once. How long rejections and pool waits last is tested elsewhere. */
const quick: Clock = {
  ...systemClock,
  after: (_, fn) => {
    const soon = setImmediate(fn);
    return { cancel: () => clearImmediate(soon) };
  },
};

t.test('an account with many endpoints leaves capacity for others, and regains its own', async (t) => {
  const told: string[] = [];
  const reporter: RejectionListeners['reporter'] = {
    add: ({ accountId, endpointId }, { limit: by, most }) => told.push(`${accountId} ${endpointId} ${by} ${most}`),
  };
  const limit = new RateLimit({ rate: 100, concurrency: 20 }, quick, { reporter });
  const open: EventEmitter[] = [];
  const ask = async (accountId: string, endpointId: string): Promise<void> => {
    const raw = new EventEmitter();
    await limit.admit(
      { accountId, endpointId, operation: 'runsync', workersRunning: 0, apiKey: 'k' },
      { raw: raw as unknown as ServerResponse },
    );
    open.push(raw);
  };
  const atOnce = RATE_RULES.runsync.concurrency!;
  let refused = 0;
  for (let asked = 0; asked < FACADE_REQUESTS_MAX; asked += 1)
    await ask('greedy', `e${Math.floor(asked / atOnce)}`).catch(() => {
      refused += 1;
    });
  t.equal(open.length, FACADE_REQUESTS_MAX / 2, 'half of all there are');
  t.equal(refused, FACADE_REQUESTS_MAX / 2);
  await t.rejects(ask('greedy', 'another'), { message: /^The account has so many requests under way/ });
  for (let asked = 0; asked < atOnce; asked += 1) await ask('small', 'e');
  t.equal(told.at(-1), `greedy another ${RequestLimit.ACCOUNT_SHARE} 0`, 'core is told');
  t.equal(told.length, refused + 1, 'of each, and of none of the other account');
  for (const raw of open.splice(0)) raw.emit('close');
  await ask('greedy', 'another');
  t.equal(open.length, 1);
});
