/**
 * GET /v1/docs: a page that shows openapi.json. The viewer is Swagger UI as @fastify/swagger-ui brings it: kept by Fastify's own people,
 * 2.5 MB without any request to another host, and it lets a reader try an operation.
 */
import swaggerUi from '@fastify/swagger-ui';
import { Type } from 'typebox';
import type { RestApp } from '../rest-parts.ts';

const PATH = '/v1/docs';

/** Nothing from anywhere else, and no other page may frame it. Styles in the page are the viewer's own; so are its images as data. */
const POLICY = {
  'default-src': "'none'", 'script-src': "'self'", 'style-src': "'self' 'unsafe-inline'", 'img-src': "'self' data:", 'font-src': "'self'",
  'connect-src': "'self'", 'base-uri': "'none'", 'form-action': "'none'", 'frame-ancestors': "'none'",
};

const DESCRIBED = {
  operationId: 'GetDocs', tags: ['docs'], summary: 'This description as a page', security: [],
  response: { 200: { description: 'A page.', content: { 'text/html': { schema: Type.String() } } } },
};

/** Adds the page and what it loads. It needs no key. */
export async function docsPage(app: RestApp): Promise<void> {
  await app.register(async (scope) => {
    // The plugin hides its routes from the description; the page itself belongs there.
    scope.addHook('onRoute', (route) => {
      if (route.url === PATH) route.schema = DESCRIBED;
    });
    scope.addHook('onSend', async (_request, reply) => {
      reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
    });
    await scope.register(swaggerUi, {
      routePrefix: PATH,
      staticCSP: POLICY,
      theme: { title: 'Slipway API' },
      uiConfig: { layout: 'BaseLayout', docExpansion: 'list', displayRequestDuration: true, defaultModelsExpandDepth: 0 },
    });
  });
}
