/** Errors of workers in OpenAI's envelope, with the code that the worker gave (docs/reference/api.md#openai). */

import { jobError, outputError } from '@slipway/kit/openai/worker-error';
import t from 'tap';

const [FAILED, CANCELLED, TIMED_OUT] = ['FAILED', 'CANCELLED', 'TIMED_OUT'] as const;
const OPENAI_ERROR = { message: 'The model `x` does not exist.', type: 'NotFoundError', param: 'model', code: 404 };

t.test('every wrapping in which an OpenAI error has been seen', async (t) => {
  const texts = [
    OPENAI_ERROR,
    { error: OPENAI_ERROR },
    { object: 'error', ...OPENAI_ERROR },
    { error: JSON.stringify(OPENAI_ERROR) },
    { error_type: 'x', error_message: JSON.stringify({ error: OPENAI_ERROR }), error_traceback: 'y' },
  ];
  for (const value of texts)
    t.same(jobError(FAILED, JSON.stringify(value)), { status: 404, error: OPENAI_ERROR }, JSON.stringify(value));
});

t.test('codes that are no HTTP error do not become one', async (t) => {
  for (const code of [200, 302, 0, 1_000, 'model_not_found', null]) {
    t.match(
      jobError(FAILED, JSON.stringify({ error: { message: 'm', code } })),
      { status: 500, error: { type: 'server_error' } },
      String(code),
    );
  }
  t.match(jobError(FAILED, JSON.stringify({ message: 'm', code: '429' })), {
    status: 429,
    error: { message: 'm', type: 'rate_limit_error' },
  });
});

t.test('any other error is 500 with the readable part of its text', async (t) => {
  const sdk = JSON.stringify({
    error_type: "<class 'RuntimeError'>",
    error_message: 'out of memory',
    error_traceback: 'Traceback …',
  });
  t.same(jobError(FAILED, sdk), {
    status: 500,
    error: { message: 'out of memory', type: 'server_error', param: null, code: 'job_failed' },
  });
  t.match(jobError(FAILED, 'worker exited with code 137'), {
    status: 500,
    error: { message: 'worker exited with code 137' },
  });
  t.match(jobError(FAILED, undefined), { status: 500, error: { message: String } });
  t.match(jobError(FAILED, '{"broken'), { status: 500, error: { message: '{"broken' } });
});

t.test('jobs that did not fail by themselves', async (t) => {
  t.match(jobError(CANCELLED, undefined), { status: 500, error: { code: 'job_cancelled' } });
  t.match(jobError(TIMED_OUT, undefined), { status: 500, error: { code: 'job_timed_out' } });
});

t.test('outputs that are errors, and ones that only resemble them', async (t) => {
  t.match(outputError({ object: 'error', message: 'm', code: 400 }), { status: 400, error: { message: 'm' } });
  t.match(outputError({ error: OPENAI_ERROR }), { status: 404 });
  t.match(outputError({ error: 'text' }), { status: 500, error: { message: 'text' } });
  for (const value of [
    { object: 'list', data: [] },
    { choices: [], error: null },
    { id: 'x', choices: [], error: { message: 'm' } },
    [],
    'error',
    null,
  ]) {
    t.equal(outputError(value), undefined, JSON.stringify(value));
  }
});
