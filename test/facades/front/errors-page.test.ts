/** The page of error codes, and the way to it from an error's answer on every surface. */

import { frontRoutes } from '@slipway/facades/front/routes';
import {
  handleErrors,
  openaiErrorShape,
  problemShape,
  queueErrorShape,
  restErrorShape,
} from '@slipway/facades/plugins/errors/error-handler';
import { conflict } from '@slipway/facades/rest-v2/rejections';
import { ERROR_HELP } from '@slipway/kit/net/error-help';
import { ERRORS_PATH_OF_ANY_HOST } from '@slipway/kit/net/help-link';
import { CoreError } from '@slipway/proto/wire/reason';
import Fastify from 'fastify';
import t from 'tap';
import { logger } from '../../helpers/system/job-engine.ts';

t.test('every code is on the page, with its id', async (t) => {
  const app = Fastify();
  t.teardown(() => app.close());
  await app.register(frontRoutes, { ready: async () => true });
  const { headers, body } = await app.inject('/docs/errors');
  t.equal(headers['content-type'], 'text/html; charset=utf-8');
  for (const code of Object.values(ERROR_HELP).flatMap(Object.keys)) t.ok(body.includes(`<h3 id="${code}">`), code);
  t.notMatch(body, /`|\]\(/, 'nothing is left of the notation');
  t.equal((await app.inject(ERRORS_PATH_OF_ANY_HOST)).body, body, 'the same page on the host of a worker');
  t.ok((await app.inject({ url: '/', headers: { accept: 'text/html' } })).body.includes('href="/docs/errors"'));
});

t.test('the Link header of an error leads there, and its body stays as it is', async (t) => {
  const surfaces = [
    [queueErrorShape, { error: 'text', code: 'job_not_found' }],
    [restErrorShape, { message: 'text', error: 'text', status: 404, code: 'job_not_found' }],
    [problemShape, { title: 'Not Found', status: 404, detail: 'text', code: 'job_not_found' }],
    [openaiErrorShape, { error: { message: 'text', type: 'not_found_error', param: null, code: 'job_not_found' } }],
  ] as const;
  for (const [shape, body] of surfaces) {
    const app = Fastify();
    t.teardown(() => app.close());
    handleErrors(app, shape, logger);
    app.get('/one', async () => {
      throw new CoreError('JOB_NOT_FOUND', 'text');
    });
    app.get('/two', async () => {
      throw conflict('text');
    });
    const one = await app.inject('/one');
    t.equal(one.headers.link, '</docs/errors#job_not_found>; rel="help"');
    t.same(one.json(), body);
    t.equal((await app.inject('/two')).headers.link, '</docs/errors#conflict>; rel="help"');
  }
});
