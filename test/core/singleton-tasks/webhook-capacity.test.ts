/** Shares of accounts in the webhook calls that run at a time. */
import { AT_ONCE_MAX } from '@slipway/core/singleton-tasks/webhook-caller';
import { WebhookCapacity } from '@slipway/core/singleton-tasks/webhook-capacity';
import t from 'tap';

const MB = 1e6;
const ENDPOINTS = 4;

/** Begins calls of an account to receivers that do not answer, as many as may begin. Returns how many that are. */
function beginAll(capacity: WebhookCapacity, accountId: string, bodyBytes: number): number {
  let begun = 0;
  for (let tried = 0; tried < 2 * AT_ONCE_MAX; tried += 1) {
    const call = { accountId, bodyBytes, endpointId: `${accountId}-${tried % ENDPOINTS}` };
    if (!capacity.allows(call)) continue;
    capacity.enter(call);
    begun += 1;
  }
  return begun;
}

t.test('accounts whose receivers do not answer leave calls to others', async (t) => {
  const capacity = new WebhookCapacity();
  const begun = ['a', 'b', 'c', 'd'].map((account) => beginAll(capacity, account, 100));
  t.equal(begun[0], AT_ONCE_MAX / 2, 'alone: half of all');
  for (const [index, calls] of begun.entries()) t.ok(calls > 0, `account ${index}: ${calls}`);
  t.ok(capacity.allows({ accountId: 'e', bodyBytes: 100, endpointId: 'e' }), 'and one more account');
});

t.test('large bodies of one account leave bytes to another', async (t) => {
  const capacity = new WebhookCapacity();
  const large = beginAll(capacity, 'a', 10 * MB);
  t.ok(large >= 2, `${large} at a time`);
  t.ok(beginAll(capacity, 'b', 10 * MB) >= 1, 'the same size');
  t.ok(beginAll(capacity, 'c', 100) >= 1, 'small ones');
});

t.test('a call that has ended frees its share', async (t) => {
  const capacity = new WebhookCapacity();
  const call = { accountId: 'a', bodyBytes: 100 * MB, endpointId: 'a' };
  t.ok(capacity.allows(call), 'a body over the limit goes alone');
  capacity.enter(call);
  t.notOk(capacity.allows({ accountId: 'b', bodyBytes: 1, endpointId: 'b' }));
  capacity.leave(call);
  t.ok(capacity.allows({ accountId: 'b', bodyBytes: 1, endpointId: 'b' }));
  t.same(capacity.atLimit(), { endpointIds: [], accountIds: [] });
});
