/** The public form of errors, in the shape of each surface. */

import { openaiErrorShape, queueErrorShape, restErrorShape } from '@slipway/facades/plugins/errors/error-handler';
import { publicError, TooManyRequests, toCoreError } from '@slipway/facades/plugins/errors/public-error';
import { CoreError } from '@slipway/proto/wire/reason';
import t from 'tap';

t.test('4xx texts are public, 5xx texts are not', async (t) => {
  t.match(publicError(new CoreError('INVALID_INPUT', 'say this')), {
    status: 400,
    code: 'invalid_input',
    text: 'say this',
  });
  for (const reason of ['INTERNAL', 'UNAVAILABLE'] as const)
    t.notMatch(publicError(new CoreError(reason, 'secret detail')).text, /secret/, reason);
});

t.test('Retry-After', async (t) => {
  t.equal(publicError(new TooManyRequests('slow down', 7)).retryAfterSeconds, 7);
  t.equal(publicError(new CoreError('QUEUE_FULL', 'x')).retryAfterSeconds, 1);
  t.equal(publicError(new CoreError('INVALID_INPUT', 'x')).retryAfterSeconds, undefined);
});

t.test('faults of the HTTP framework', async (t) => {
  t.match(toCoreError(Object.assign(new Error('body/x must be integer'), { statusCode: 400 })), {
    reason: 'INVALID_REQUEST',
  });
  t.match(toCoreError(Object.assign(new Error('x'), { statusCode: 404 })), { reason: 'NOT_FOUND' });
  t.match(toCoreError(Object.assign(new Error('x'), { statusCode: 413 })), { reason: 'INVALID_REQUEST' });
  t.match(toCoreError(new TypeError('a bug')), { reason: 'INTERNAL' });
  t.match(toCoreError('thrown text'), { reason: 'INTERNAL' });
});

t.test('shapes', async (t) => {
  const shown = publicError(new CoreError('JOB_NOT_FOUND', 'gone'));
  t.same(
    queueErrorShape(shown),
    { error: 'gone', code: 'job_not_found' },
    'no status that the asyncio client would take for a job state',
  );
  t.same(restErrorShape(shown), { message: 'gone', error: 'gone', status: 404, code: 'job_not_found' });
  t.same(openaiErrorShape(shown), {
    error: { message: 'gone', type: 'not_found_error', param: null, code: 'job_not_found' },
  });
});
