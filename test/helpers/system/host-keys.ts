/**
 * Checks that a browser keeps the key of a load-balancing endpoint in the host form, through a facade and through an
 * edge.
 */

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import { call } from '../grpc/grpc-clients.ts';
import { waitFor } from '../time/wait-for.ts';
import type { System } from './system.ts';

const PAGE = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' };
const OWN = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' };

/** Checks keys by host. `host`, `other`: hosts of two endpoints, the first with a ready worker (lb-worker.mjs). */
export async function checkHostKeys(
  t: Test,
  { url, host, other, system }: { url: string; host: string; other: string; system: System },
): Promise<void> {
  const { clients, rootKey, accountId } = system;
  const fields = { name: 'browser', scope: KeyScope.ALL, endpointIds: [], accountId, permissions: undefined };
  const { key, secret } = await call(clients.keys, 'createKey', fields, rootKey);
  const ask = (path: string, headers: OutgoingHttpHeaders = {}, method = 'GET') =>
    new Promise<{ answer: IncomingMessage; text: string }>((resolve, reject) => {
      httpRequest(url + path, { method, agent: false, headers: { host, ...headers } }, async (answer) => {
        resolve({ answer, text: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString() });
      })
        .once('error', reject)
        .end();
    });
  const statusOf = async (...asked: Parameters<typeof ask>): Promise<number | undefined> =>
    (await ask(...asked)).answer.statusCode;

  const { answer: opened } = await ask(`/ui/?api_key=${secret}&a=b`, PAGE);
  t.match(
    [opened.statusCode, opened.headers.location],
    [303, '/ui/?a=b'],
    'a page that is opened with a key is sent on without it',
  );
  t.match(opened.headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  const [set = ''] = opened.headers['set-cookie'] ?? [];
  t.match(set, /^slipway_key=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
  const [pair = ''] = set.split(';');
  t.notMatch(
    Buffer.from(pair.split('=')[1]!, 'base64url').toString('latin1'),
    secret,
    'and does not stand in the cookie',
  );
  const cookie = `mine=1; ${pair}`;
  const page = await ask('/ui/?a=b', { ...PAGE, cookie });
  t.match([page.answer.statusCode, JSON.parse(page.text)], [200, { url: '/ui/?a=b' }]);
  const seen = (JSON.parse(page.text) as { headers: string[] }).headers.join('\n');
  t.match(seen, /cookie\nmine=1\n/i, 'the worker gets its own cookies');
  t.notMatch(seen, /slipway_key|authorization/i, 'and not ours');
  t.equal(await statusOf('/api', { ...OWN, cookie }, 'POST'), 200, 'what the page asks');
  t.equal(
    await statusOf('/api', { cookie, origin: `http://${host}` }, 'POST'),
    200,
    'also by a browser that says less',
  );
  t.equal(
    await statusOf('/api', { ...PAGE, 'sec-fetch-site': 'cross-site', cookie }),
    200,
    'a link elsewhere opens it',
  );

  const foreign: [string, OutgoingHttpHeaders][] = [
    ['POST', { ...OWN, 'sec-fetch-site': 'same-site' }],
    ['GET', { ...OWN, 'sec-fetch-site': 'same-site' }],
    ['POST', { ...PAGE, 'sec-fetch-site': 'same-site' }],
    ['POST', { origin: `http://${other}` }],
    ['POST', {}],
    ['GET', { ...PAGE, 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'same-site' }],
  ];
  for (const [method, headers] of foreign)
    t.equal(await statusOf('/api', { ...headers, cookie }, method), 401, `${method} ${JSON.stringify(headers)}`);
  t.equal(await statusOf('/x', { ...PAGE, cookie, host: other }), 401, 'at another endpoint it opens nothing');
  t.equal(await statusOf('/x', { ...PAGE, cookie: `${pair.slice(0, -4)}AAAA` }), 401, 'nor does a forged one');
  t.equal(
    await statusOf('/x', { ...PAGE, cookie: `__Host-${pair}` }),
    401,
    'one that was made without TLS is none of it',
  );
  t.match(
    await ask(`/x?api_key=${secret}`),
    { answer: { statusCode: 200 }, text: /"url":"\/x"/ },
    'programs are answered at once',
  );
  t.equal(await statusOf('/x?api_key=rpa_unknown', PAGE), 401, 'a key that does not do makes no cookie');
  const { answer: slashes } = await ask(`//evil.example/?api_key=${secret}`, PAGE);
  t.equal(slashes.headers.location, '/evil.example/', 'nobody is sent elsewhere');

  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  let told = '';
  let ended = false;
  socket
    .on('data', (piece: Buffer) => {
      told += piece.toString('latin1');
    })
    .once('close', () => {
      ended = true;
    });
  socket.write(
    'GET /chat HTTP/1.1\r\n' +
      `host: ${host}\r\n` +
      `origin: http://${host}\r\n` +
      `cookie: ${pair}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\n' +
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
      '\r\n',
  );
  await waitFor('the WebSocket', () => told.startsWith('HTTP/1.1 101'));
  await call(clients.keys, 'revokeKey', { id: key!.id }, system.key);
  await waitFor('the cookie to end with its key', async () => (await statusOf('/x', { ...PAGE, cookie })) === 401);
  await waitFor('the WebSocket to end with it', () => ended);
}
