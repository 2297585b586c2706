/**
 * The REST description (docs/reference/management.md#rest), read as clients do: over HTTP and without a key, core or no
 * core.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';

interface Description {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  tags: { name: string }[];
  security: object[];
  paths: Record<
    string,
    Record<string, { operationId: string; tags: string[]; security?: object[]; responses: Record<string, unknown> }>
  >;
  components: { securitySchemes: object; schemas: Record<string, unknown> };
}

const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), {
  logger: createLogger('test', 'silent'),
});
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
  t.ok(
    Object.keys(description.paths).every((path) => !path.startsWith('/v1')),
    'paths are relative to the prefix',
  );
});

t.test('the seven tags of docs/reference/management.md#rest', async (t) => {
  t.same(
    description.tags.map(({ name }) => name),
    ['docs', 'pods', 'endpoints', 'network volumes', 'templates', 'container registry auths', 'billing'],
  );
});

t.test('bearer everywhere but here', async (t) => {
  t.match(description.components.securitySchemes, { ApiKey: { type: 'http', scheme: 'bearer' } });
  t.same(description.security, [{ ApiKey: [] }]);
  t.same(description.paths['/openapi.json']?.['get']?.security, []);
});

/** docs/reference/management.md#operations: operation, id, status of success. */
const OPERATIONS = `
get /openapi.json GetOpenAPI 200
get /docs GetDocs 200
post /pods CreatePod 201
get /pods ListPods 200
get /pods/{podId} GetPod 200
patch /pods/{podId} UpdatePod 200
post /pods/{podId}/update UpdatePodByPost 200
delete /pods/{podId} DeletePod 204
post /pods/{podId}/start StartPod 200
post /pods/{podId}/stop StopPod 200
post /pods/{podId}/reset ResetPod 200
post /pods/{podId}/restart RestartPod 200
post /endpoints CreateEndpoint 200
get /endpoints ListEndpoints 200
get /endpoints/{endpointId} GetEndpoint 200
get /endpoints/{endpointId}/metrics GetEndpointMetrics 200
patch /endpoints/{endpointId} UpdateEndpoint 200
post /endpoints/{endpointId}/update UpdateEndpointByPost 200
delete /endpoints/{endpointId} DeleteEndpoint 204
post /templates CreateTemplate 200
get /templates ListTemplates 200
get /templates/{templateId} GetTemplate 200
patch /templates/{templateId} UpdateTemplate 200
post /templates/{templateId}/update UpdateTemplateByPost 200
delete /templates/{templateId} DeleteTemplate 204
post /networkvolumes CreateNetworkVolume 200
get /networkvolumes ListNetworkVolumes 200
get /networkvolumes/{networkVolumeId} GetNetworkVolume 200
patch /networkvolumes/{networkVolumeId} UpdateNetworkVolume 200
post /networkvolumes/{networkVolumeId}/update UpdateNetworkVolumeByPost 200
delete /networkvolumes/{networkVolumeId} DeleteNetworkVolume 204
post /containerregistryauth CreateContainerRegistryAuth 200
get /containerregistryauth ListContainerRegistryAuths 200
get /containerregistryauth/{containerRegistryAuthId} GetContainerRegistryAuth 200
delete /containerregistryauth/{containerRegistryAuthId} DeleteContainerRegistryAuth 204
get /billing/pods PodBilling 200
get /billing/endpoints EndpointBilling 200
get /billing/networkvolumes NetworkVolumeBilling 200
`
  .trim()
  .split('\n')
  .sort();

t.test(
  'every operation of docs/reference/management.md#operations with its id and status, and no queue route',
  async (t) => {
    const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const success = Object.keys(operation.responses).find((status) => status.startsWith('2'));
        return `${method} ${path} ${operation.operationId} ${success}`;
      }),
    );
    t.same(operations.sort(), OPERATIONS);
    t.equal(new Set(OPERATIONS.map((line) => line.split(' ')[2])).size, OPERATIONS.length, 'operation ids are unique');
  },
);

t.test('every operation that needs a key says what else it answers', async (t) => {
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, { tags, responses }] of Object.entries(methods)) {
      t.equal(tags.length, 1, `${method} ${path} has one tag`);
      if (tags[0] === 'docs') continue;
      const wanted = ['400', '401', ...(path.includes('{') ? ['404'] : []), '429', '503'];
      t.same(
        wanted.filter((status) => !(status in responses)),
        [],
        `${method} ${path}`,
      );
    }
  }
});

t.test('a validator of OpenAPI 3.0 finds nothing', async (t) => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(description) });
  t.ok(valid, JSON.stringify(errors));
});

t.test('every reference leads somewhere', async (t) => {
  const references = [...JSON.stringify(description).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    (match) => match[1]!,
  );
  t.ok(references.length > 10);
  for (const name of new Set(references)) t.ok(description.components.schemas[name], name);
  t.ok(description.components.schemas['Endpoint']);
});

t.test('other routes need a key', async (t) => {
  const refused = await fetch(`${url}/v1/endpoints`);
  t.equal(refused.status, 401);
  t.match(await refused.json(), { message: String, error: String, status: 401, code: 'unauthorized' });
});
