/**
 * Serves a page that shows an OpenAPI document. The viewer is Swagger UI of @fastify/swagger-ui: maintained by Fastify,
 * 2.5 MB, no request to another host, and a reader can try each operation.
 */
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema } from 'fastify';

/**
 * Nothing from anywhere else, and no other page may frame it. Styles in the page are the viewer's own; so are its
 * images as data.
 */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** Options of the page. It shows the document that @fastify/swagger makes of the app. */
interface DocsPageOptions {
  path: string;
  title: string;
  /** Describes the page itself in the document. Default: it is not described. */
  schema?: FastifySchema;
}

/** Adds the page and its files. They need no key. */
export async function docsPage(app: FastifyInstance, { path, title, schema }: DocsPageOptions): Promise<void> {
  await app.register(async (scope) => {
    // The plugin hides its routes from the description; the page itself belongs there.
    scope.addHook('onRoute', (route) => {
      if (schema && route.url === path) route.schema = schema;
    });
    scope.addHook('onSend', async (_request, reply) => {
      reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
    });
    await scope.register(swaggerUi, {
      routePrefix: path,
      staticCSP: POLICY,
      theme: { title },
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        displayRequestDuration: true,
        defaultModelsExpandDepth: 0,
      },
    });
  });
}
