// test: postgres
/** Pages of other origins in a browser and the queue API (docs/reference/api.md#pages-in-a-browser). */

import { readFacadeConfig } from '@slipway/facades/config';
import { ConfigError } from '@slipway/kit/host/env';
import t from 'tap';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

const PAGE = 'https://page.example:8443';
const system = await startSystem(t, { facadeEnv: { SLIPWAY_CORS_ORIGINS: `${PAGE},https://other.example` } });
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));
const send = (path: string, init: RequestInit): Promise<Response> => fetch(`${system.url}${path}`, init);
const auth = { authorization: `Bearer ${system.key}` };
const allowed = ({ headers }: Response): string | null => headers.get('access-control-allow-origin');

t.test('pages of the configured origins may preflight, call and read, errors included', async (t) => {
  const asking = {
    origin: PAGE,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type',
  };
  const preflight = await send(`${jobs.base}/runsync`, { method: 'OPTIONS', headers: asking });
  t.same(
    [preflight.status, allowed(preflight), preflight.headers.get('access-control-allow-headers')],
    [204, PAGE, 'authorization, content-type'],
  );
  t.match(preflight.headers.get('vary'), 'Origin');
  const ran = await send(`${jobs.base}/runsync`, {
    method: 'POST',
    headers: { origin: PAGE, ...auth },
    body: '{"input":{"mode":"echo"}}',
  });
  t.match([ran.status, allowed(ran), await ran.json()], [200, PAGE, { status: 'COMPLETED' }]);
  const feed = await send(`${jobs.base}/stream/${await jobs.run({ mode: 'echo' })}`, {
    headers: { origin: PAGE, ...auth, accept: 'text/event-stream' },
  });
  t.same([feed.status, allowed(feed)], [200, PAGE]);
  await feed.text();
  for (const [method, path, status] of [
    ['POST', '/run', 401],
    ['DELETE', '/run', 405],
    ['GET', '/health', 401],
  ] as const) {
    const refused = await send(jobs.base + path, { method, headers: { origin: PAGE } });
    t.same([refused.status, allowed(refused)], [status, PAGE], `${method} ${path}`);
    t.match(refused.headers.get('access-control-expose-headers'), 'Retry-After');
  }
  for (const path of [`${jobs.base}/openai/v1/models`, '/openai/v1/models']) {
    const completion = await send(path, { headers: { origin: PAGE } });
    t.same([completion.status, allowed(completion)], [401, PAGE], path);
  }
});

t.test('other origins are refused, and requests without an origin are unchanged', async (t) => {
  for (const origin of ['https://page.example', 'http://page.example:8443', 'https://evil.example', 'null']) {
    const asked = await send(`${jobs.base}/run`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    t.same([asked.status, allowed(asked)], [405, null], origin);
    t.equal(allowed(await send(`${jobs.base}/health`, { headers: { origin, ...auth } })), null, origin);
  }
  const plain = await send(`${jobs.base}/health`, { headers: auth });
  t.same([allowed(plain), plain.headers.get('vary')], [null, 'Origin'], 'a cache must tell them apart');
  t.equal(
    allowed(await send('/v1/endpoints', { headers: { origin: PAGE, ...auth } })),
    null,
    'management is for no page',
  );
});

t.test('a header value that could be split in two is not echoed', async (t) => {
  const asked = await send(`${jobs.base}/run`, {
    method: 'OPTIONS',
    headers: {
      origin: PAGE,
      'access-control-request-method': 'P(ST',
      'access-control-request-headers': 'x: y',
    },
  });
  t.same(
    [
      asked.status,
      asked.headers.get('access-control-allow-methods'),
      asked.headers.get('access-control-allow-headers'),
    ],
    [204, null, null],
  );
});

t.test('an invalid origin is rejected as a setting', async (t) => {
  for (const text of ['page.example', 'https://page.example/', 'https://page.example/path', '**']) {
    t.throws(() => readFacadeConfig({ SLIPWAY_CORS_ORIGINS: text }), ConfigError, text);
  }
  t.same(readFacadeConfig({ SLIPWAY_CORS_ORIGINS: '*' }).corsOrigins, ['*']);
  t.same(readFacadeConfig({}).corsOrigins, []);
});
