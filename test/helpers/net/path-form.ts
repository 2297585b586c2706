/** Checks a worker's headers in the path form, through a facade and straight from Envoy (kit/net/path-form.ts). */

import type { PathForm } from '@slipway/kit/net/path-form';
import { ORIGIN_HEADERS } from '@slipway/kit/net/path-form';
import type { Test } from 'tap';
import { exchange } from './raw-http.ts';

/** By header name: the value that a worker sends and the value that its client receives. */
export const PATH_FORM_CASES = ({
  prefix,
  host,
  proto,
}: PathForm): [name: string, value: string, expected: string][] => [
  ['Location', '/items/', `${prefix}/items/`],
  ['Location', `${prefix}/items`, `${prefix}/items`],
  ['Location', `${prefix}?a`, `${prefix}?a`],
  ['Location', `${prefix}more`, `${prefix}${prefix}more`],
  ['Location', `http://${host}/me?a=b#c`, `${proto}://${host}${prefix}/me?a=b#c`],
  ['Location', `https://${host!.toUpperCase()}/me`, `${proto}://${host!.toUpperCase()}${prefix}/me`],
  ['Location', `http://${host}`, `${proto}://${host}${prefix}/`],
  ['Location', `http://${host}?a=b`, `${proto}://${host}${prefix}/?a=b`],
  ['Location', `http://${host}${prefix}/me`, `${proto}://${host}${prefix}/me`],
  ['Location', `//${host}/me`, `//${host}${prefix}/me`],
  ['Location', 'https://elsewhere.example/me', 'https://elsewhere.example/me'],
  ['Location', `http://${host}.evil.example/me`, `http://${host}.evil.example/me`],
  ['Location', '//elsewhere.example/me', '//elsewhere.example/me'],
  ['Location', 'items', 'items'],
  ['Location', '?page=2', '?page=2'],
  ['Content-Location', '/items/1', `${prefix}/items/1`],
  ['Set-Cookie', 'a=1; Path=/; HttpOnly', `a=1; Path=${prefix}/; HttpOnly`],
  ['Set-Cookie', 'a=1; path = /login ;Secure', `a=1; Path=${prefix}/login;Secure`],
  ['Set-Cookie', `a=1; Path=${prefix}/x`, `a=1; Path=${prefix}/x`],
  ['Set-Cookie', 'a=1', 'a=1'],
  ['Set-Cookie', 'path=/x; Max-Age=1', 'path=/x; Max-Age=1'],
  ['Set-Cookie', 'a=1; Domain=example.com; Path=/console', `a=1; Path=${prefix}/console`],
  ['Set-Cookie', 'a=1; Path=relative', 'a=1; Path=relative'],
];

/** Bytes over 0x7f: UTF-8 and Latin-1. */
const BYTES = Buffer.from('782d757466383a20c3a42ee697a50d0a782d6c6174696e3a20e40d0a', 'hex').toString('latin1');

/**
 * `base`: prefix of an endpoint whose worker is lb-worker.mjs; empty = addressed by host. `host`: Host of the requests.
 */
export async function checkAnswers(
  t: Test,
  { url, base, host, key }: { url: string; base: string; host: string; key: string },
): Promise<void> {
  const answer = (head: string) => {
    const bytes = Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n${head}\r\n`,
      'latin1',
    ).toString('base64');
    const headers = `host: ${host}\r\nconnection: close\r\nx-forwarded-proto: http\r\nauthorization: Bearer ${key}\r\n`;
    const asked = `GET ${base}/bytes?bytes=${encodeURIComponent(bytes)} HTTP/1.1\r\n${headers}\r\n`;
    return exchange(url, { pieces: [asked] });
  };
  const form = { prefix: base, host, proto: 'http' };
  for (const [name, value, expected] of PATH_FORM_CASES({ ...form, prefix: base === '' ? '/v2/abc' : base })) {
    const { headers } = await answer(`${name}: ${value}\r\n`);
    t.equal(headers.get(name.toLowerCase()), base === '' ? value : expected, `${name}: ${value}`);
  }
  const { headers } = await answer(ORIGIN_HEADERS.map((name) => `${name}: x\r\n`).join(''));
  t.same(
    ORIGIN_HEADERS.filter((name) => headers.has(name)),
    base === '' ? ORIGIN_HEADERS : [],
    'what acts on a whole origin',
  );
  const odd = await answer(BYTES);
  t.same(
    [odd.headers.get('x-utf8'), odd.headers.get('x-latin')],
    ['\xc3\xa4.\xe6\x97\xa5', '\xe4'],
    'bytes over 0x7f are as they were',
  );
}
