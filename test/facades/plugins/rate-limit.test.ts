/** What one account may have under way at a facade, however many endpoints it has. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { FACADE_REQUESTS_MAX } from '../../../proto/wire/limits.ts';
import { RateLimit } from '../../../facades/plugins/rate-limit.ts';
import { RATE_RULES } from '../../../facades/plugins/rate-limit-rules.ts';

t.test('an account with many endpoints leaves the others calls to core, and gets its own back', async (t) => {
  const limit = new RateLimit({ rate: 100, concurrency: 20 });
  const open: EventEmitter[] = [];
  const ask = async (accountId: string, endpointId: string): Promise<void> => {
    const raw = new EventEmitter();
    await limit.admit({ accountId, endpointId, operation: 'runsync', workersRunning: 0 }, { raw: raw as unknown as ServerResponse });
    open.push(raw);
  };
  const atOnce = RATE_RULES.runsync.concurrency!;
  let refused = 0;
  for (let asked = 0; asked < FACADE_REQUESTS_MAX; asked += 1) await ask('greedy', `e${Math.floor(asked / atOnce)}`).catch(() => { refused += 1; });
  t.equal(open.length, FACADE_REQUESTS_MAX / 2, 'half of all there are');
  t.equal(refused, FACADE_REQUESTS_MAX / 2);
  await t.rejects(ask('greedy', 'another'), { message: /^The account has so many requests under way/ });
  for (let asked = 0; asked < atOnce; asked += 1) await ask('small', 'e');
  t.match(limit.refusals.of('greedy', 'e0'), [{ limit: 'REQUESTS_AT_ONCE' }], 'explain says so');
  t.same(limit.refusals.of('small', 'e'), []);
  for (const raw of open.splice(0)) raw.emit('close');
  await ask('greedy', 'another');
  t.equal(open.length, 1);
});
