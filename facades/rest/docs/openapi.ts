/**
 * GET /v1/openapi.json: the REST description, made from the same schemas that check the requests
 * (docs/reference/management.md#rest).
 */
import swagger from '@fastify/swagger';
import { Type } from 'typebox';
import type { RestApp } from '../rest-parts.ts';

/** Resource groups of docs/reference/management.md#rest. */
const TAGS = [
  { name: 'docs', description: 'This description.' },
  {
    name: 'pods',
    description:
      'Long-running processes or containers. Each runs on one machine. Workers of endpoints can be read here too.',
  },
  {
    name: 'endpoints',
    description: 'An endpoint runs your handler. It has a template, a choice of GPUs and scaling settings.',
  },
  { name: 'network volumes', description: 'Directories that stay when their workers and pods end.' },
  {
    name: 'templates',
    description: 'A template says what workers and pods run: image, command, environment, disk and ports.',
  },
  {
    name: 'container registry auths',
    description: 'Credentials for private container registries. The service never shows secrets again.',
  },
  { name: 'billing', description: "Usage, and its cost by the operator's price table." },
];

/** The page that shows the document (plugins/docs-page.ts). */
export const DESCRIBED_PAGE = {
  operationId: 'GetDocs',
  tags: ['docs'],
  summary: 'This description as a page',
  security: [],
  response: { 200: { description: 'An HTML page.', content: { 'text/html': { schema: Type.String() } } } },
};

/** Watches the routes that are added to the app from now on. */
export async function describeRoutes(app: RestApp): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title: 'Slipway API',
        version: '0.1.0',
        description:
          'Manages serverless endpoints, templates, pods, network volumes and registry credentials. ' +
          'Jobs are not submitted here, but under /v2/{endpointId}.',
      },
      servers: [{ url: '/v1', description: 'This service' }],
      tags: TAGS,
      components: {
        securitySchemes: { ApiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' } },
      },
      security: [{ ApiKey: [] }],
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `def-${index}`,
    },
  });
}

/** Adds the route. It needs no key. */
export function openapi(app: RestApp): void {
  const schema = {
    operationId: 'GetOpenAPI',
    tags: ['docs'],
    summary: 'This description',
    security: [],
    response: {
      200: Type.Unsafe<object>({
        type: 'object',
        additionalProperties: true,
        description: 'An OpenAPI 3.0.3 document.',
      }),
    },
  };
  app.route({ method: 'GET', url: '/v1/openapi.json', schema, handler: async () => app.swagger() });
  app.route({ method: 'HEAD', url: '/v1/openapi.json', schema: { hide: true }, handler: async () => app.swagger() });
}
