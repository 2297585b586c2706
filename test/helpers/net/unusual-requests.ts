/**
 * Legal HTTP requests and answers that are rare. They reach the worker (lb-worker.mjs) and the client unchanged.
 */

import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { LB_ANSWER_HEADER_BYTES_MAX, LB_ANSWER_HEADERS_MAX } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import { exchange } from './raw-http.ts';

/** Paths with invalid escapes, dots, slashes, characters that a browser escapes, and very long segments. */
const PATHS = [
  '/%ff',
  '/a%zz',
  '/a%',
  '/%00',
  '/%41%2f%5c',
  '/a/../b',
  '/a/%2e%2e/b',
  '/a/./b',
  '/..',
  '/a//b',
  '/a\\b',
  '/a|b"<>`{}^;c',
  '/x?a=%ff&b=%',
  `/${'x'.repeat(2_000)}`,
  `/logs/${'x'.repeat(1_100)}`,
  '/openai/%ff',
];
const METHODS = ['QUERY', 'TRACE', 'PROPFIND', 'M-SEARCH', 'PURGE', 'SEARCH', 'LINK', 'REPORT'];

/** The worker's address by path: `base` is the prefix before the worker's own path. */
interface Asked {
  url: string;
  base: string;
  key: string;
}

/** Sends all of them, one after the other. */
export async function checkUnusualRequests(t: Test, { url, base, key }: Asked): Promise<void> {
  const auth = `host: localhost\r\nauthorization: Bearer ${key}\r\nconnection: close`;
  const ask = (line: string, more = '', body = '') =>
    exchange(url, { pieces: [`${line} HTTP/1.1\r\n${auth}${more}\r\n\r\n${body}`] });
  for (const path of PATHS) t.match(await ask(`GET ${base}${path}`), { status: 200, json: { url: path } }, path);
  for (const path of ['/m', '/m?a=http://b/c']) {
    t.match(
      await ask(`GET http://localhost${base}${path}`),
      { status: 200, json: { url: path } },
      `as to a proxy, ${path}`,
    );
  }
  for (const method of METHODS) {
    const body = '\r\ncontent-type: text/plain\r\ncontent-length: 2';
    t.match(
      await ask(`${method} ${base}/m`, body, 'ab'),
      { status: 200, json: { method, url: '/m', bytes: 2 } },
      method,
    );
  }
  for (const method of ['FOO', 'get'])
    t.match(await ask(`${method} ${base}/x`), { status: 400, json: { code: 'invalid_request' } }, method);
  for (const line of ['CONNECT localhost:80', `CONNECT ${base}/x`]) {
    const { status, json } = await ask(line);
    t.ok([400, 404].includes(status) && typeof json?.['error'] === 'string', `${line}: ${status}`);
  }
  const upgrades: [string, string][] = [
    ['content-length: 0', ''],
    ['content-length: 3', 'abc'],
    ['transfer-encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'],
  ];
  for (const [length, body] of upgrades) {
    const { status, json } = await exchange(url, {
      pieces: [
        `POST ${base}/up HTTP/1.1\r\n` +
          'host: localhost\r\n' +
          `authorization: Bearer ${key}\r\n` +
          'connection: Upgrade\r\n' +
          'upgrade: foo\r\n' +
          `${length}\r\n` +
          '\r\n' +
          `${body}`,
      ],
    });
    t.match(
      { status, json },
      { status: 200, json: { bytes: body === '' ? 0 : 3 } },
      `another protocol is not asked for, ${length}`,
    );
    t.notOk((json!['headers'] as string[]).some((name) => /^upgrade$/i.test(name)));
  }
}

/** Checks informational answers, and the limits of answer headers. */
export async function checkUnusualAnswers(t: Test, { url, base, key }: Asked): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const told: unknown[] = [];
  const ask = (path: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const maxHeaderSize = 2 * LB_ANSWER_HEADER_BYTES_MAX;
      const asking = httpRequest(`${url}${base}${path}`, { agent: false, headers, maxHeaderSize }, (reply) =>
        resolve(reply.resume()),
      );
      asking
        .on('information', ({ statusCode, headers: { link } }) => told.push([statusCode, link]))
        .once('error', reject)
        .end();
    });
  t.match((await ask('/hints')).headers, { 'x-late': 'yes' });
  t.same(told, [[103, '</a.css>; rel=preload']]);
  const status = async (count: number, bytes: number) =>
    (await ask(`/headers?count=${count}&bytes=${bytes}`)).statusCode;
  t.equal(await status(LB_ANSWER_HEADERS_MAX - 10, 100), 200, 'many headers');
  t.equal(await status(10, LB_ANSWER_HEADER_BYTES_MAX / 11), 200, 'long ones');
  t.equal(await status(LB_ANSWER_HEADERS_MAX + 1, 10), 502, 'too many');
  t.equal(await status(10, LB_ANSWER_HEADER_BYTES_MAX / 9), 502, 'too long');
}
