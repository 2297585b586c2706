/** The REST description (spec.md 4.1 and 9, compat.md 3.1), read as clients do: over HTTP and without a key, core or no core. */
import t from 'tap';
import { createLogger } from '../../../core/runtime/logger.ts';
import { buildFacade } from '../../../facades/app.ts';
import { readFacadeConfig } from '../../../facades/config.ts';

interface Description {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  tags: { name: string }[];
  security: object[];
  paths: Record<string, Record<string, { operationId: string; tags: string[]; security?: object[]; responses: Record<string, unknown> }>>;
  components: { securitySchemes: object; schemas: Record<string, unknown> };
}

const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), { logger: createLogger('test', 'silent') });
const { url } = await facade.start();
t.teardown(() => facade.stop());
const response = await fetch(`${url}/v1/openapi.json`);
const description = (await response.json()) as Description;

t.test('GET /openapi.json | 200, JSON, no key', async (t) => {
  t.equal(response.status, 200);
  t.match(response.headers.get('content-type'), /^application\/json/);
});

t.test('OpenAPI 3.0.3, version 0.1.0, prefix /v1', async (t) => {
  t.equal(description.openapi, '3.0.3');
  t.equal(description.info.version, '0.1.0');
  t.match(description.servers[0]?.url, /\/v1$/);
  t.ok(Object.keys(description.paths).every((path) => !path.startsWith('/v1')), 'paths are relative to the prefix');
});

t.test('the seven tags of spec.md 1', async (t) => {
  t.same(description.tags.map(({ name }) => name), ['docs', 'pods', 'endpoints', 'network volumes', 'templates', 'container registry auths', 'billing']);
});

t.test('bearer everywhere but here', async (t) => {
  t.match(description.components.securitySchemes, { ApiKey: { type: 'http', scheme: 'bearer' } });
  t.same(description.security, [{ ApiKey: [] }]);
  t.same(description.paths['/openapi.json']?.['get']?.security, []);
});

t.test('the operations of this build, and no queue route', async (t) => {
  const operations = Object.entries(description.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
  const of = (group: string, id: string): string[] => [
    `post /${group}`, `get /${group}`, `get /${group}/{${id}}`, `patch /${group}/{${id}}`, `post /${group}/{${id}}/update`, `delete /${group}/{${id}}`,
  ];
  t.same(operations.sort(), ['get /openapi.json', ...of('endpoints', 'endpointId'), ...of('templates', 'templateId')].sort());
  const ids = Object.values(description.paths).flatMap((methods) => Object.values(methods)).map(({ operationId }) => operationId);
  t.equal(new Set(ids).size, ids.length, 'operation ids are unique');
});

t.test('every reference leads somewhere', async (t) => {
  const references = [...JSON.stringify(description).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!);
  t.ok(references.length > 10);
  for (const name of new Set(references)) t.ok(description.components.schemas[name], name);
  t.ok(description.components.schemas['Endpoint']);
});

t.test('other routes need a key', async (t) => {
  const refused = await fetch(`${url}/v1/endpoints`);
  t.equal(refused.status, 401);
  t.match(await refused.json(), { message: String, error: String, status: 401, code: 'unauthorized' });
});
