// test: postgres
/**
 * Requests to a load-balancing endpoint from the console's page: what the worker receives, and which parts of the
 * answers never reach the browser.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const OWN = { 'x-console-page': '1' };

/** Request of the page. */
interface Asked {
  method: string;
  path: string;
  headers?: unknown;
}

/** The first line of an answer, and what follows it. */
interface Told {
  status: number;
  headers: [string, string][];
  body: string;
}

t.setTimeout(600_000);
t.test('requests tried in the console', async (t) => {
  const system = await startSystem(t);
  const id = await lbEndpoint(system, { workersMin: 1 });
  const { at, shown } = lbClient(system);
  await waitFor('the worker', async () => (await at(id, '/ping')).ok, 60_000);
  const signIn = async (key: string): Promise<string> => {
    const headers = { ...OWN, origin: system.url, 'content-type': 'application/json' };
    const answer = await fetch(`${system.url}/console/session`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ key }),
    });
    return answer.headers.get('set-cookie')!.split(';')[0]!;
  };
  const cookie = await signIn(system.key);
  const head = (asked: unknown): Record<string, string> => ({
    'x-console-request': encodeURIComponent(JSON.stringify(asked)),
  });
  const send = ({ method, path, headers = [] }: Asked, init: RequestInit = {}, endpoint = id): Promise<Response> =>
    fetch(`${system.url}/console/api/lb/${endpoint}`, {
      method: 'POST',
      ...init,
      headers: { ...OWN, origin: system.url, cookie, ...head({ method, path, headers }), ...init.headers },
    });
  const decoded = async (answer: Promise<Response>): Promise<Told> => {
    const text = await (await answer).text();
    const end = text.indexOf('\n');
    return { ...(JSON.parse(text.slice(0, end)) as Told), body: text.slice(end + 1) };
  };

  await t.test("tried requests equal a client's, without headers of the page", async (t) => {
    const headers = [
      ['X-Mine', 'a, b'],
      ['Content-Type', 'application/json'],
      ['X-Mine', 'c'],
    ];
    const answer = await decoded(
      send({ method: 'PUT', path: '/predict?x=%2F&y', headers }, { body: '{"prompt":"ä"}' }),
    );
    t.equal(answer.status, 200);
    t.match(
      answer.headers.find(([name]) => /^x-runpod-worker-id$/i.test(name)),
      [String, /^\w{14}$/],
    );
    const seen = JSON.parse(answer.body) as { method: string; url: string; bytes: number; headers: string[] };
    t.match(seen, { method: 'PUT', url: '/predict?x=%2F&y', bytes: 15 });
    // The facade adds Expect by itself to ask whether the worker wants the body.
    const names = seen.headers
      .filter((_, index) => index % 2 === 0)
      .map((name) => name.toLowerCase())
      .filter((name) => name !== 'expect')
      .sort();
    t.same(
      names,
      [
        'connection',
        'content-length',
        'content-type',
        'host',
        'x-forwarded-for',
        'x-forwarded-host',
        'x-forwarded-prefix',
        'x-forwarded-proto',
        'x-mine',
        'x-mine',
      ],
      'neither cookie nor key nor what browsers say of a page',
    );
    t.notMatch(answer.body, new RegExp(`${system.key}|${cookie.split('=')[1]}`));
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
      t.match(JSON.parse((await decoded(send({ method, path: '/' }))).body), { method, bytes: 0 });
    }
    t.match(await decoded(send({ method: 'HEAD', path: '/download?bytes=9' })), { status: 200, body: '' });
  });

  await t.test("nothing of a response is applied to the console's origin", async (t) => {
    const script = Buffer.from('<script>alert(1)</script>').toString('base64');
    const statuses = [401, 302, 204].map((status) => `/say?status=${status}`);
    for (const path of [
      `/say?type=text/html&bytes=${script}`,
      '/cookies?set=a%3D1&set=slipway_console%3Devil',
      ...statuses,
    ]) {
      const answer = await send({ method: 'GET', path });
      t.equal(answer.status, 200);
      t.match(
        Object.fromEntries(answer.headers),
        {
          'content-type': 'application/octet-stream',
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
          'cache-control': /no-store/,
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
          'cross-origin-resource-policy': 'same-origin',
        },
        path,
      );
      t.notOk(
        ['set-cookie', 'location', 'www-authenticate', 'access-control-allow-origin'].some((name) =>
          answer.headers.has(name),
        ),
      );
      await answer.body?.cancel();
    }
    const { headers } = await decoded(send({ method: 'GET', path: '/cookies?set=a%3D1' }));
    t.same(
      headers.filter(([name]) => /^set-cookie$/i.test(name)).map(([, value]) => value),
      ['a=1'],
      'it is told, and not set',
    );
  });

  await t.test('refusals of worker and service are shown as a client gets them', async (t) => {
    t.match(await decoded(send({ method: 'GET', path: '/say?status=418&bytes=bm8=' })), { status: 418, body: 'no' });
    t.match(await decoded(send({ method: 'GET', path: '/say?status=500' })), { status: 500, body: '' });
    t.match(await decoded(send({ method: 'GET', path: '/download?bytes=31500000' })), {
      status: 413,
      body: /larger than 30 MB/,
    });
    t.match(await decoded(send({ method: 'GET', path: '/' }, {}, 'nosuchendpoint')), {
      status: 404,
      body: /There is no such endpoint/,
    });
    const queue = await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 } });
    t.match(await decoded(send({ method: 'GET', path: '/x' }, {}, queue)), {
      status: 404,
      body: /this is a queue-based endpoint/,
    });
    t.match(await decoded(send({ method: 'POST', path: '/run' }, { body: '{}' })), {
      status: 400,
      body: /not allowed for QB API/,
    });
    const ofOther = await system.newKey(KeyScope.ALL, undefined, [queue]);
    for (const [who, key, statuses] of [
      ['one that only reads', await system.newKey(KeyScope.READ_ONLY), [200, 401]],
      ['one of another endpoint', ofOther, [401, 401]],
      ["the operator's", system.rootKey, [200, 200]],
    ] as const) {
      const headers = { cookie: await signIn(key) };
      for (const [index, method] of ['GET', 'POST'].entries()) {
        t.match(
          await decoded(send({ method, path: '/' }, { headers })),
          { status: statuses[index] },
          `${who}, ${method}`,
        );
        t.equal(
          (await at(id, '/', { method, headers: { authorization: `Bearer ${key}` } })).status,
          statuses[index],
          'as without the console',
        );
      }
    }
  });

  await t.test('an endless response is streamed, and its worker notices when the reader leaves', async (t) => {
    const away = new AbortController();
    const reader = (await send({ method: 'GET', path: '/endless' }, { signal: away.signal })).body!.getReader();
    let text = '';
    while (!text.includes('tick 3\n')) text += Buffer.from((await reader.read()).value!).toString();
    t.match(text, /^\{"status":200,.*\}\ntick 1\ntick 2\ntick 3\n/);
    const left = async (): Promise<number> => (await shown(at(id, '/count'))).left;
    const before = await left();
    away.abort();
    await t.rejects(reader.read());
    await waitFor('the worker to hear it', async () => (await left()) > before);
  });

  await t.test('other origins and signed-out pages cannot send any', async (t) => {
    const seen = async (): Promise<string[]> =>
      (await shown(at(id, '/seen'))).seen.filter((line) => line.includes('/stolen'));
    const asked = { method: 'GET', path: '/stolen' };
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      t.equal((await send(asked, { headers })).status, 403, JSON.stringify(headers));
    }
    const plain = { cookie, origin: system.url, ...head({ ...asked, headers: [] }) };
    t.equal(
      (await fetch(`${system.url}/console/api/lb/${id}`, { method: 'POST', headers: plain })).status,
      403,
      'a form cannot send the header',
    );
    t.equal((await send(asked, { headers: { cookie: '' } })).status, 401);
    t.equal((await send(asked, { method: 'GET' })).status, 400, 'nor can it be opened as a page');
    t.equal((await fetch(`${system.url}/console/api/lb/${id}/stolen`, { headers: { ...OWN, cookie } })).status, 404);
    t.same(await seen(), []);
  });

  await t.test('requests that cannot be sent are refused before any worker sees them', async (t) => {
    const odd = { method: 'GET', path: '/odd', headers: [] as unknown };
    const names = [
      'Authorization',
      'Host',
      'Content-Length',
      'Transfer-Encoding',
      'Connection',
      'Upgrade',
      'Expect',
      'Cookie',
      'TE',
      'X-Forwarded-For',
      'X_Forwarded_Host',
      'X-Slipway-Activation',
      'x_slipway_edge',
      'Proxy-Authorization',
      'a b',
      '',
      'x:',
    ];
    const wrong: [what: string, asked: unknown][] = [
      ...['CONNECT', 'TRACE', 'get', ''].map((method): [string, unknown] => [`method ${method}`, { ...odd, method }]),
      ...['odd', '/odd x', '/odd HTTP/1.1\r\nx: y', '/odd#x', `/odd${'x'.repeat(4_096)}`, '/oddä', ''].map(
        (path): [string, unknown] => [`path ${path.slice(0, 20)}`, { ...odd, path }],
      ),
      ...names.map((name): [string, unknown] => [`header ${name}`, { ...odd, headers: [[name, 'x']] }]),
      ...['a\r\nb', 'a\0b', 'ł', 1, null].map((value): [string, unknown] => [
        `value ${JSON.stringify(value)}`,
        { ...odd, headers: [['x', value]] },
      ]),
      ...[undefined, {}, [['x', 'y', 'z']], ['x', 'y'], Array.from({ length: 51 }, () => ['x', 'y'])].map(
        (headers): [string, unknown] => [`headers ${JSON.stringify(headers)?.slice(0, 30)}`, { ...odd, headers }],
      ),
      ['null', null],
      ['a list', []],
    ];
    for (const [what, asked] of wrong) {
      const answer = await send({ method: '', path: '' }, { headers: head(asked) });
      t.same([answer.status, ((await answer.json()) as { code: string }).code], [400, 'invalid_request'], what);
    }
    for (const text of ['%', '{', 'x'.repeat(9_000)]) {
      t.equal(
        (await send({ method: '', path: '' }, { headers: { 'x-console-request': text } })).status,
        400,
        text.slice(0, 10),
      );
    }
    t.notMatch(JSON.stringify((await shown(at(id, '/seen'))).seen), '/odd');
  });

  await t.test('a truncated response is truncated here', async (t) => {
    const answer = await send({ method: 'GET', path: '/half' });
    await t.rejects(answer.text());
  });
});
