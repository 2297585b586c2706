/** Our signatures are those of the specification's own package. */

import { signWebhook } from '@slipway/core/singleton-tasks/sign-webhook';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { Webhook } from 'standardwebhooks';
import t from 'tap';

const secret = `whsec_${Buffer.from('a secret of some length, 32 bytes').toString('base64')}`;
const nowMs = 1_700_000_000_999;

t.test('signatures', async (t) => {
  for (const text of ['', '{}', '{"a":"ü🦊"}', JSON.stringify('x'.repeat(300_000))]) {
    const body = Buffer.from(text);
    const headers = workNow(signWebhook({ id: 'job.1', body, secret, nowMs }));
    const signature = new Webhook(secret).sign('job.1', new Date(nowMs), text);
    t.same(
      headers,
      { 'webhook-id': 'job.1', 'webhook-timestamp': '1700000000', 'webhook-signature': signature },
      `${body.length} bytes`,
    );
  }
  t.throws(() => workNow(signWebhook({ id: 'x', body: Buffer.alloc(0), secret: 'whsec_', nowMs })), /empty/);
});
