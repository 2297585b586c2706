/** GET /v1/docs: the page, and all it loads, comes from here (docs/reference/management.md#rest). */

import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';

const facade = buildFacade(readFacadeConfig({ SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_HTTP_PORT: '0' }), {
  logger: createLogger('test', 'silent'),
});
const { url } = await facade.start();
t.teardown(() => facade.stop());

/** Directives of a policy with their sources. */
function directives(policy: string | null): Map<string, string[]> {
  const parts = (policy ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return new Map(
    parts.map((part) => {
      const [name, ...sources] = part.split(' ');
      return [name!, sources];
    }),
  );
}

const TYPES: Record<string, RegExp> = {
  css: /^text\/css/,
  js: /^(application|text)\/javascript/,
  png: /^image\/png/,
  json: /^application\/json/,
};

for (const path of ['/v1/docs', '/v1/docs/', '/v1/docs?from=mail']) {
  t.test(`${path}: a page, without a key`, async (t) => {
    const response = await fetch(url + path);
    const html = await response.text();
    t.equal(response.status, 200);
    t.match(response.headers.get('content-type'), /^text\/html/);
    t.match(html, '<title>Slipway API</title>');
    const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => new URL(match[1]!, response.url));
    t.ok(links.length >= 6, 'it loads the viewer');
    for (const link of links) {
      t.equal(link.origin, url, `${link} is ours`);
      const file = await fetch(link);
      t.equal(file.status, 200, link.pathname);
      t.match(file.headers.get('content-type'), TYPES[link.pathname.split('.').at(-1)!], link.pathname);
      t.ok((await file.arrayBuffer()).byteLength > 100, `${link.pathname} holds something`);
    }
  });
}

t.test('the viewer is told to show our description', async (t) => {
  const script = await (await fetch(`${url}/v1/docs/static/swagger-initializer.js`)).text();
  const [, path] = /url: resolveUrl\('\.\/([^']+)'\)/.exec(script)!;
  const shown = await fetch(`${url}/v1/docs/${path}`);
  t.match(shown.headers.get('content-type'), TYPES['json']);
  t.same(await shown.json(), await (await fetch(`${url}/v1/openapi.json`)).json());
  t.match(script, '"layout":"BaseLayout"', 'without a field for other addresses');
});

t.test('the browser is told to load nothing from another host', async (t) => {
  for (const path of ['/v1/docs', '/v1/docs/static/swagger-ui.css', '/v1/docs/static/swagger-initializer.js']) {
    const policy = directives((await fetch(url + path)).headers.get('content-security-policy'));
    t.same(policy.get('default-src'), ["'none'"], path);
    t.same(policy.get('script-src'), ["'self'"], `${path}: no script in the page, no eval`);
    t.same(policy.get('frame-ancestors'), ["'none'"], path);
    const allowed = new Set(["'self'", "'none'", "'unsafe-inline'", 'data:']);
    t.same(
      [...policy.values()].flat().filter((source) => !allowed.has(source)),
      [],
      `${path} names no host`,
    );
  }
});

t.test('the viewer serves its own files only', async (t) => {
  for (const path of [
    '/v1/docs/static/%2e%2e%2fpackage.json',
    '/v1/docs/static/..%2f..%2fpackage.json',
    '/v1/docs/static/nothing.js',
    '/v1/docs/static/',
  ]) {
    t.ok([400, 403, 404].includes((await fetch(url + path)).status), path);
  }
});
