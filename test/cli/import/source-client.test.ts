/** Reads from a source that answers in unusual ways: each ends within bounds, with a text that says what to do. */

import { Writable } from 'node:stream';
import { SourceClient } from '@slipway/cli/import/source/source-client';
import { readList } from '@slipway/cli/import/source/source-lists';
import { Output } from '@slipway/cli/output/output';
import type { Clock } from '@slipway/kit/time/clock';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import type { Answerer } from './source-server.ts';
import { sendJson, startSource } from './source-server.ts';

const RESPONSE_MS_MAX = 60_000;
const LIST = { path: '/v2/templates', key: 'templates', what: 'templates' };

/** Returns a client whose pauses are over at once, and noted. Only the limit of a response is real. */
async function reading(t: Test, answer: Answerer) {
  const source = await startSource(t, answer);
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => {
      if (ms === RESPONSE_MS_MAX) return systemClock.after(ms, fn);
      waits.push(ms);
      return systemClock.after(0, fn);
    },
  };
  const sink = new Writable({ write: (_part, _encoding, done) => done() });
  const output = new Output(sink, sink, systemClock);
  const client = new SourceClient({
    origin: source.url,
    graphqlUrl: `${source.url}/graphql`,
    key: 'rpa_KEY',
    keyFile: 'key.txt',
    clock,
    random: systemRandom,
    output,
    stopping: new AbortController().signal,
  });
  const list = () => readList(client, output, LIST);
  const failure = async (): Promise<string> => {
    try {
      await list();
    } catch (error) {
      return `${(error as Error).constructor.name}: ${(error as Error).message}`;
    }
    throw new Error('it was read');
  };
  return { source, client, waits, list, failure };
}

const page = (from: number, nextCursor: string | null) => ({
  templates: [{ id: `t${from}`, name: `name ${from}` }],
  pagination: { nextCursor, hasNextPage: nextCursor !== null },
});

t.test('all pages are read', async (t) => {
  const { list, source } = await reading(t, ({ path }, response) => {
    const at = Number(new URL(path, 'http://x').searchParams.get('cursor')?.slice('next+&='.length) ?? 0);
    sendJson(response, page(at, at < 4 ? `next+&=${at + 1}` : null));
  });
  t.same(
    (await list()).rows.map(({ id }) => id),
    ['t0', 't1', 't2', 't3', 't4'],
  );
  t.equal(source.seen.length, 5);
});

t.test('pages that do not end are not followed', async (t) => {
  const circle = await reading(t, (_seen, response) => sendJson(response, page(0, 'again')));
  t.match(await circle.failure(), /^RejectedError: .*leads back to a page that was read/);
  t.equal(circle.source.seen.length, 2);
  let n = 0;
  const endless = await reading(t, (_seen, response) => sendJson(response, page(n, `c${(n += 1)}`)));
  t.match(await endless.failure(), /^RejectedError: .*more than 100 pages/);
  const wrong = await reading(t, (_seen, response) =>
    sendJson(response, { ...page(0, null), pagination: { nextCursor: { a: 1 } } }),
  );
  t.match(await wrong.failure(), /^RejectedError: .*cannot be followed/);
});

t.test('a redirect is not followed: the key stays', async (t) => {
  const thief = await startSource(t, (_seen, response) => sendJson(response, page(0, null)));
  const { failure } = await reading(t, (_seen, response) => {
    response.writeHead(302, { location: `${thief.url}/v2/templates` }).end();
  });
  t.match(await failure(), /redirects to http:.*The key is not sent there; give the right address with --from/);
  t.same(thief.seen, []);
});

t.test('an answer that is not of the API is explained', async (t) => {
  const answers: [string, Answerer, RegExp][] = [
    [
      'a page',
      (_seen, response) => response.writeHead(200).end('<html><title>Sign in</title></html>'),
      /a web page \(Sign in\)\. Is it the address/,
    ],
    ['nothing', (_seen, response) => response.writeHead(200).end(), /no JSON \(empty\)/],
    ['half', (_seen, response) => response.writeHead(200).end('{"templates":['), /no JSON/],
    ['another list', (_seen, response) => sendJson(response, { items: [] }), /has no list "templates"/],
    ['null', (_seen, response) => sendJson(response, null), /has no list "templates"/],
    ['400', (_seen, response) => sendJson(response, { detail: 'no' }, 400), /status 400: \{"detail":"no"\}/],
    ['401', (_seen, response) => sendJson(response, {}, 401), /does not accept the key of key\.txt \(401\)/],
  ];
  for (const [name, answer, text] of answers) {
    const { failure, source } = await reading(t, answer);
    const said = await failure();
    t.match(said, text, name);
    t.notMatch(said, /rpa_KEY/, 'without the key');
    t.equal(source.seen.length, 1, 'it is not asked again');
  }
});

t.test('a huge answer is cut off', async (t) => {
  const part = Buffer.alloc(1024 * 1024, ' ');
  const { failure } = await reading(t, (_seen, response) => {
    response.writeHead(200);
    const send = (): void => {
      while (!response.destroyed && response.write(part));
      response.once('drain', send);
    };
    send();
  });
  t.match(await failure(), /^RejectedError: .*longer than 32 MiB/);
});

t.test('entries without a usable id or name are counted, and the others are read', async (t) => {
  const templates = [
    null,
    5,
    [],
    {},
    { id: 'a' },
    { id: '../x', name: 'x' },
    { id: 7, name: 'x' },
    { id: 'b', name: 'x'.repeat(765) },
    { id: 'ok', name: 'fine', more: [1] },
  ];
  const { list } = await reading(t, (_seen, response) => sendJson(response, { templates, surprise: true }));
  t.match(await list(), { rows: [{ id: 'ok', name: 'fine', fields: { more: [1] } }], malformed: 8 });
});

t.test('resources that the key may not read or the source lacks are no failure', async (t) => {
  for (const status of [403, 404, 405, 410, 501]) {
    const { list } = await reading(t, (_seen, response) => sendJson(response, {}, status));
    t.match(await list(), { rows: [], unread: new RegExp(String(status)) });
  }
});

t.test('limits of the source are kept', async (t) => {
  let n = 0;
  const { list, waits } = await reading(t, (_seen, response) => {
    n += 1;
    if (n === 1) return sendJson(response, {}, 429, { 'retry-after': '7' });
    if (n === 2) return sendJson(response, {}, 429, { 'retry-after': new Date(Date.now() + 90_000).toUTCString() });
    const headers = { ratelimit: '"minute";r=0;t=12, "hour";r=100;t=1812' };
    return sendJson(response, page(n, n < 4 ? 'more' : null), 200, headers);
  });
  t.equal((await list()).rows.length, 2);
  t.ok(waits.includes(7_000), 'Retry-After in seconds');
  t.ok(
    waits.some((ms) => ms > 60_000 && ms <= 90_000),
    'or as a date',
  );
  t.ok(waits.includes(12_000), 'and a window without requests left');
});

t.test('a limit that lasts long ends the command', async (t) => {
  const { failure, source } = await reading(t, (_seen, response) =>
    sendJson(response, {}, 429, { 'retry-after': '86400' }),
  );
  t.match(await failure(), /takes no more requests for 86400 s; run the command again after that/);
  t.equal(source.seen.length, 1);
});

t.test('a source that fails is asked again, a few times', async (t) => {
  let n = 0;
  const recovering = await reading(t, (_seen, response) => {
    n += 1;
    if (n === 1) response.destroy();
    else sendJson(response, page(0, null), n === 2 ? 503 : 200);
  });
  t.equal((await recovering.list()).rows.length, 1);
  const down = await reading(t, (_seen, response) => sendJson(response, {}, 500));
  t.match(await down.failure(), /^UnreachableError: .*fails with status 500/);
  t.equal(down.source.seen.length, 5);
});

t.test('only queries can be sent to GraphQL', async (t) => {
  const { client, source } = await reading(t, (_seen, response) => sendJson(response, {}));
  for (const text of ['mutation { deleteEndpoint(id: "x") }', '{ myself { id } }', 'queryx', ' subscription { a }'])
    await t.rejects(async () => client.query(text), /only queries are sent/);
  t.same(source.seen, []);
});
