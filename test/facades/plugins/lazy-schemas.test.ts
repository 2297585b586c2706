/** Schemas of routes are compiled when first used, and then hold as those that Fastify compiles at once. */

import { lazySchemas } from '@slipway/facades/plugins/bodies/lazy-schemas';
import { fastify } from 'fastify';
import t from 'tap';

const BODY = { type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 1 } } };
const ANSWER = { $id: 'Answer', type: 'object', properties: { n: { type: 'integer' } } };

t.test('checks and writers', async (t) => {
  const app = fastify({ schemaController: lazySchemas() });
  t.teardown(() => app.close());
  app.addSchema(ANSWER);
  app.post('/', { schema: { body: BODY, response: { 200: { $ref: 'Answer#' } } } }, async (request) => ({
    n: (request.body as { n: number }).n,
    secret: 1,
  }));
  // Its schema cannot be compiled, which affects only its callers.
  app.get(
    '/broken',
    { schema: { querystring: { type: 'object', properties: { a: { type: 'nonsense' } } } } },
    async () => 'never',
  );
  const post = (payload: object) => app.inject({ method: 'POST', url: '/', payload });
  for (const time of ['first', 'second']) {
    const good = await post({ n: 2 });
    t.same([good.statusCode, good.json()], [200, { n: 2 }], `the ${time} answer holds what its schema names`);
    const bad = await post({ n: 0 });
    t.match(
      [bad.statusCode, bad.json()],
      [400, { message: 'body/n must be >= 1' }],
      `the ${time} bad request is told why`,
    );
    t.match(
      (await post({})).json(),
      { message: /must have required property 'n'/ },
      `and of each its own fault, the ${time} time`,
    );
    t.equal((await app.inject('/broken?a=1')).statusCode, 500, 'a route whose schema is wrong');
  }
});
