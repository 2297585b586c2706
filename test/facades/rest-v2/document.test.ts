/** The description of REST v2, read as clients do: over HTTP and without a key, core or no core. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';

interface Operation {
  operationId: string;
  security?: object[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, object>; headers?: object }>;
}
interface Description {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
}

const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), {
  logger: createLogger('test', 'silent'),
});
const { url } = await facade.start();
t.teardown(() => facade.stop());
const response = await fetch(`${url}/v2/openapi.json`);
const description = (await response.json()) as Description;
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
);

t.test('it is a valid OpenAPI 3.1.0 document', async (t) => {
  t.equal(response.status, 200);
  t.match(response.headers.get('content-type'), /^application\/json/);
  t.equal(description.openapi, '3.1.0');
  const { valid, errors } = await new Validator().validate({ ...structuredClone(description) });
  t.ok(valid, JSON.stringify(errors)?.slice(0, 2_000));
});

t.test('ids of operations are unique, and every tag is described', async (t) => {
  const ids = operations.map(({ operationId }) => operationId);
  t.same(
    ids.filter((id, at) => ids.indexOf(id) !== at),
    [],
  );
  const tags = new Set(description.tags.map(({ name }) => name));
  for (const { operationId, ...operation } of operations)
    t.ok(tags.has((operation as unknown as { tags: string[] }).tags[0]!), operationId);
});

t.test('every reference leads somewhere, and every shape is used', async (t) => {
  const references = new Set(
    [...JSON.stringify(description).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!),
  );
  t.same(
    [...references].filter((name) => !description.components.schemas[name]),
    [],
  );
  t.same(
    Object.keys(description.components.schemas).filter((name) => !references.has(name)),
    [],
  );
});

t.test('every operation with a key lists its error responses, as problems', async (t) => {
  for (const { operationId, path, security, requestBody, responses } of operations) {
    if (security?.length === 0) continue;
    const wanted = [
      '401',
      '403',
      '429',
      '503',
      ...(path.includes('{') && !('501' in responses) ? ['404'] : []),
      ...(requestBody ? ['400', '422'] : []),
    ];
    t.same(
      wanted.filter((status) => !(status in responses)),
      [],
      operationId,
    );
    for (const [status, { content, headers }] of Object.entries(responses)) {
      t.ok(headers, `${operationId} ${status} has rate headers`);
      if (status >= '400') t.same(Object.keys(content ?? {}), ['application/problem+json'], `${operationId} ${status}`);
    }
  }
});

t.test('the page shows it without anything from elsewhere', async (t) => {
  const page = await fetch(`${url}/v2/docs`);
  t.equal(page.status, 200);
  t.match(page.headers.get('content-security-policy'), /default-src 'none'/);
  t.match(await page.text(), /Slipway REST v2/);
  const shown = await fetch(`${url}/v2/docs/json`);
  t.same(await shown.json(), description, 'what the page loads is the document');
});

t.test('operations that need a key say so first', async (t) => {
  for (const path of [
    '/v2/templates',
    '/v2/templates/x',
    '/v2/nothing-here-for-now/x/y',
    '/v2/tags',
    '/v2/flash/run',
  ]) {
    const refused = await fetch(url + path);
    t.equal(refused.status, 401, path);
  }
  const missing = await fetch(`${url}/v2/templates`);
  t.match(missing.headers.get('content-type'), /^application\/problem\+json/);
  t.same(await missing.json(), {
    title: 'Unauthorized',
    status: 401,
    detail: 'missing bearer token',
    code: 'unauthorized',
  });
});
