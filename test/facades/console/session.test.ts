// test: postgres, 15 s
/**
 * Signing in to the console over HTTP: the cookie, whose pages may use it, what it opens, and what it must never open.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { settingsByPage } from './settings-by-page.ts';

const OWN = { 'x-slipway-console': '1', 'content-type': 'application/json' };

t.test('the console over HTTP', async (t) => {
  const system = await startSystem(t, { agents: 0, facadeEnv: { SLIPWAY_EDGE_KEY: 'k'.repeat(64) } });
  const origin = { ...OWN, origin: system.url };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${system.url}/console${path}`, { ...init, headers: { ...origin, ...init.headers } });
  const signIn = async (key: string) => {
    const response = await ask('/session', { method: 'POST', body: JSON.stringify({ key }) });
    const cookie = response.headers.get('set-cookie') ?? '';
    return { response, cookie, pair: cookie.split(';')[0]! };
  };
  const { response, cookie, pair } = await signIn(system.key);

  t.test('the key becomes a cookie that no script can read, and does not stand in it', async (t) => {
    t.equal(response.status, 200);
    t.match(await response.json(), {
      accountId: system.accountId,
      accountName: 'test',
      manage: 'write',
      jobs: 'write',
    });
    t.match(cookie, /; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/, 'over plain HTTP without Secure');
    t.notMatch(cookie, system.key);
    t.notMatch(Buffer.from(pair.split('=')[1]!, 'base64url').toString('latin1'), system.key);
    const byTls = await ask('/session', {
      method: 'POST',
      body: JSON.stringify({ key: system.key }),
      headers: { 'x-forwarded-proto': 'https' },
    });
    const secure = byTls.headers.get('set-cookie')!;
    t.match(
      secure,
      /^__Host-slipway_console=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
      'by TLS at a trusted proxy',
    );
    const [prefixed = ''] = secure.split(';');
    const signedIn = async (sent: string): Promise<number> =>
      (await ask('/session', { headers: { cookie: sent } })).status;
    t.equal(await signedIn(prefixed), 200);
    t.equal(
      await signedIn(prefixed.replace('__Host-', '')),
      401,
      'what another host could set is not taken for one of TLS',
    );
    t.equal(await signedIn(`slipway_console=evil; ${pair}`), 200, 'nor is what stands before it');
    t.match(await (await ask('/session', { headers: { cookie: pair } })).json(), { accountName: 'test' });
    t.match(
      (await ask('/session', { method: 'DELETE', headers: { cookie: pair } })).headers.get('set-cookie'),
      /Max-Age=0/,
    );
  });

  t.test('the page and its resources: same origin only, no inline code, never framed', async (t) => {
    const html = await (await ask('')).text();
    const loaded = [...html.matchAll(/(?:src|href)="\/console(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    t.ok(loaded.some((path) => path.endsWith('.js')) && loaded.some((path) => path.endsWith('.css')), loaded.join());
    t.notMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/i);
    for (const path of [
      '',
      '/endpoints/abc/jobs/def',
      ...loaded,
      '/assets/nosuch.js',
      '/api/v1/endpoints',
      '/session',
    ]) {
      const answer = await ask(path);
      await answer.body?.cancel();
      const rules = (answer.headers.get('content-security-policy') ?? '').split('; ').map((rule) => rule.split(' '));
      const policy = new Map(rules.map(([name, ...sources]) => [name!, sources]));
      const own = ['script-src', 'style-src', 'connect-src'].map((name) => policy.get(name));
      t.same(own, [["'self'"], ["'self'"], ["'self'"]], `${path}: its own, and nothing else`);
      const never = ['default-src', 'frame-ancestors', 'base-uri', 'form-action'].map((name) => policy.get(name));
      t.same(never, [["'none'"], ["'none'"], ["'none'"], ["'none'"]], `${path}: never`);
      t.same(policy.get('require-trusted-types-for'), ["'script'"], path);
      const sources = new Set([...policy.values()].flat());
      t.same(sources, new Set(["'self'", "'none'", "'script'", 'data:']), `${path}: no host, no 'unsafe-…'`);
      t.equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
      t.equal(answer.headers.get('referrer-policy'), 'no-referrer', path);
      t.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin', path);
    }
  });

  t.test('what a session allows', async (t) => {
    const endpoints = await ask('/api/v1/endpoints', { headers: { cookie: pair } });
    t.equal(endpoints.status, 200, await endpoints.clone().text());
    t.same(await endpoints.json(), []);
    const volume = JSON.stringify({ name: 'v', size: 1, dataCenterId: 'X-1' });
    t.not(
      (await ask('/api/v1/networkvolumes', { method: 'POST', headers: { cookie: pair }, body: volume })).status,
      401,
      'with the key of the session',
    );
    for (const path of ['/api/v1/endpoints', '/api/live', '/api/fields/endpoint']) {
      t.equal((await ask(path)).status, 401, `${path} without a session`);
      t.equal(
        (await ask(path, { headers: { cookie: `${pair.slice(0, -4)}AAAA` } })).status,
        401,
        `${path} with a forged one`,
      );
    }
    const outside = await fetch(`${system.url}/v1/endpoints`, { headers: { cookie: pair } });
    t.equal(outside.status, 401, 'the API itself knows no cookie');
  });

  t.test('unknown settings are refused, also names of built-in properties', async (t) => {
    for (const scalerType of ['XYZ', 'toString', '__proto__']) {
      const asked = await ask('/api/endpoints/abcdefgh/what-if', {
        method: 'POST',
        headers: { cookie: pair },
        body: JSON.stringify({ scalerType }),
      });
      t.same([asked.status, ((await asked.json()) as { code: string }).code], [400, 'invalid_request'], scalerType);
    }
  });

  t.test('a read-only key gets no values of variables, on any surface', async (t) => {
    const template = { name: 'v', imageName: '', dockerStartCmd: ['true'], isServerless: true, env: { A: 'sealed-1' } };
    const { id: templateId } = (await system.request('POST', '/v1/templates', template)).json as { id: string };
    const endpoint = { templateId, name: 'v', env: { B: 'sealed-2' }, workersMax: 0 };
    const { id } = (await system.request('POST', '/v1/endpoints', endpoint)).json as { id: string };
    const asReader = publicRequest(system.url, await system.newKey(KeyScope.READ_ONLY));
    const { pair: reader } = await signIn(await system.newKey(KeyScope.READ_ONLY));
    const fields = 'id env { key value } template { env { key value } }';
    const graphql = { query: `{ myself { endpoints { ${fields} } } }` };
    const texts = [
      (await asReader('GET', `/v1/endpoints/${id}?includeTemplate=true`)).text,
      (await asReader('GET', '/v1/templates')).text,
      (await asReader('GET', '/v2/serverless')).text,
      (await asReader('GET', `/v2/serverless/${id}`)).text,
      (await asReader('POST', '/graphql', graphql)).text,
      await (await ask(`/api/v1/endpoints/${id}`, { headers: { cookie: reader } })).text(),
    ];
    for (const text of texts) {
      t.match(text, /"\*\*\*"/);
      t.notMatch(text, 'sealed-');
    }
  });

  t.test('an endpoint by the page: created once, changed, copied; unknown settings are refused', (t) =>
    settingsByPage(t, { ask, pair, signIn, newKey: system.newKey }),
  );

  t.test('other origins cannot use it', async (t) => {
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const headers of foreign) {
      for (const [method, path] of [
        ['GET', '/api/v1/endpoints'],
        ['POST', '/api/v1/endpoints'],
        ['GET', '/api/live'],
        ['POST', '/session'],
        ['POST', '/api/keys'],
        ['POST', '/api/keys/abc/revoke'],
        ['POST', '/api/endpoints/abc/jobs/abc/webhooks'],
        ['GET', '/api/endpoints/abc/jobs/abc/input'],
      ] as const) {
        const sent = await ask(path, {
          method,
          headers: { cookie: pair, ...headers },
          ...(method === 'POST' ? { body: '{}' } : {}),
        });
        t.equal(sent.status, 403, `${method} ${path} with ${JSON.stringify(headers)}`);
        t.equal(sent.headers.get('access-control-allow-origin'), null);
        await sent.body?.cancel();
      }
    }
    const plain = await fetch(`${system.url}/console/api/v1/endpoints`, {
      method: 'POST',
      headers: { cookie: pair, origin: system.url },
      body: '{}',
    });
    t.equal(plain.status, 403, 'a form of this very origin cannot send the header');
  });

  t.test('a malformed request creates no key', async (t) => {
    for (const body of [
      {},
      { name: 1 },
      { name: 'k', scope: 'ROOT' },
      { name: 'k', scope: 'AGENT' },
      { name: 'k', endpointIds: 'abc' },
    ]) {
      const { status } = await ask('/api/keys', {
        method: 'POST',
        headers: { cookie: pair },
        body: JSON.stringify(body),
      });
      t.ok([400, 401].includes(status), `${JSON.stringify(body)}: ${status}`);
    }
  });

  t.test('paths of workers are not under the console', async (t) => {
    for (const path of [
      '/api/v2/abc/predict',
      '/api/v2/abc/explain',
      '/api/v2/abc/openai/v1/models',
      '/api/v2/abc/health/../x',
      '/api/pods/abc/80/',
    ]) {
      t.equal((await ask(path, { headers: { cookie: pair } })).status, 404, path);
    }
  });

  t.test('keys with fewer rights, the operator, and keys that do not work', async (t) => {
    const readOnly = await signIn(await system.newKey(KeyScope.READ_ONLY));
    t.match(await readOnly.response.json(), { manage: 'read', jobs: 'read' });
    const operator = await signIn(system.rootKey);
    t.match(await operator.response.json(), { accountId: '', accountName: 'operator' });
    for (let i = 0; i < 25; i += 1)
      t.equal((await signIn(`rpa_${'x'.repeat(40)}`)).response.status, 401, 'keys that nobody guesses do not count');
    let refused = 0;
    for (let i = 0; i < 25; i += 1) {
      const { status } = (await signIn('wrong')).response;
      if (status === 429) refused += 1;
      else t.equal(status, 401);
    }
    t.ok(refused >= 4, 'too many wrong keys of an address are not even looked at');
    t.equal((await signIn(system.key)).response.status, 200, 'and a good key from there still signs in');
    const from = async (seen: string): Promise<number> =>
      (
        await ask('/session', {
          method: 'POST',
          body: JSON.stringify({ key: 'wrong' }),
          headers: { 'x-forwarded-for': seen },
        })
      ).status;
    let last = 0;
    for (let i = 0; i < 21; i += 1) last = await from(`203.0.113.${i}, 198.51.100.7`);
    t.equal(last, 429, 'its address is what the proxy saw, not what it says itself');
    t.equal(await from('198.51.100.7, 203.0.113.1'), 401, 'and nobody can use up what another one has');
  });

  t.test('a hundred open tabs do not block changes, and are the limit', async (t) => {
    const away = new AbortController();
    t.teardown(() => away.abort());
    const live = (page = '') => ask(`/api/live${page}`, { headers: { cookie: pair }, signal: away.signal });
    const open = await Promise.all(Array.from({ length: 100 }, () => live()));
    t.same(new Set(open.map(({ status }) => status)), new Set([200]));
    t.equal((await live()).status, 429);
    t.equal((await ask('/api/v1/endpoints', { headers: { cookie: pair } })).status, 200);
  });
});
