/**
 * Routes that need no key: `/` for people and programs that explore the service, `/healthz` and `/readyz` for probes.
 */
import { createHash } from 'node:crypto';
import { ERRORS_PATH, ERRORS_PATH_OF_ANY_HOST, helpLink } from '@slipway/kit/net/help-link';
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';
import { errorsList } from './errors-list.ts';

interface FrontParts {
  /** Returns whether core and its database respond. Must settle within a few seconds. */
  ready(): Promise<boolean>;
}

/** Links of the page, in its order. */
const LINKS = [
  { path: '/console', text: 'the console: endpoints, jobs and what is wrong, as a page' },
  { path: '/v1/docs', text: 'REST API: the description as a page, to try it out' },
  { path: '/v1/openapi.json', text: 'REST API: the description for programs' },
  { path: '/v2/docs', text: 'REST API v2: the description as a page' },
  { path: '/v2/openapi.json', text: 'REST API v2: the description for programs' },
  { path: ERRORS_PATH, text: 'every error code: its cause, and what to do' },
  { path: '/healthz', text: 'this process lives' },
  { path: '/readyz', text: 'the service can take requests' },
];
/** Paths that accept no plain GET, and therefore get no link. */
const CALLS = [
  { path: '/v2/{endpoint_id}/run', text: 'submits a job (POST); see README.md for the others' },
  { path: '/openai/v1', text: 'base URL for OpenAI clients: the model selects the endpoint' },
  { path: '/v2/{endpoint_id}/openai/v1', text: 'base URL for OpenAI clients of one endpoint' },
  { path: '/graphql', text: 'GraphQL (POST)' },
];

const STYLE =
  'body{font:1rem/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light ' +
  'dark}code,a{font-family:monospace}';

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`;
}

const FRONT_PAGE = page(
  'Slipway',
  `<p>Serverless GPU endpoints on your own machines.</p>
<ul>
${LINKS.map(({ path, text }) => `<li><a href="${path}">${path}</a>: ${text}</li>`).join('\n')}
${CALLS.map(({ path, text }) => `<li><code>${path}</code>: ${text}</li>`).join('\n')}
</ul>`,
);
const ERRORS_PAGE = page('Slipway: errors', errorsList());
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
/** Loads nothing, and no other page may frame it. */
const POLICY =
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; ` +
  "frame-ancestors 'none'";
const JSON_TEXT = JSON.stringify({
  service: 'slipway',
  paths: Object.fromEntries([...LINKS, ...CALLS].map(({ path, text }) => [path, text])),
});
const JSON_TYPE = 'application/json; charset=utf-8';

function sendPage(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', POLICY)
    .header('referrer-policy', 'no-referrer')
    .send(text);
}

/** Adds the routes. */
export async function frontRoutes(app: FastifyInstance, { ready }: FrontParts): Promise<void> {
  // Many probes ask with HEAD.
  const read = (url: string, handler: RouteHandlerMethod): void =>
    void app.route({ method: ['GET', 'HEAD'], url, handler });
  read('/', async (request, reply) => {
    reply.header('vary', 'accept').header('x-content-type-options', 'nosniff');
    if (!request.headers.accept?.includes('text/html')) return reply.header('content-type', JSON_TYPE).send(JSON_TEXT);
    return sendPage(reply, FRONT_PAGE);
  });
  for (const path of [ERRORS_PATH, ERRORS_PATH_OF_ANY_HOST])
    read(path, async (_request, reply) => sendPage(reply.header('x-content-type-options', 'nosniff'), ERRORS_PAGE));
  read('/healthz', async (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }));
  read('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    if (await ready()) return reply.send({ status: 'ok' });
    const error = 'Core or its database does not answer, or this facade stops; requests would be answered 503.';
    reply.code(503).header('retry-after', 1).header('link', helpLink('unavailable'));
    return reply.send({ error, code: 'unavailable' });
  });
}
