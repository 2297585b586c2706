/** Checks that the console's cookie never passes to or from a worker (kit/net/own-cookies.ts). */
import type { Test } from 'tap';

const SENT =
  'a=1; slipway_console=secret;b=2 ; __Host-slipway_console=secret;' +
  ' slipway_key=secret; __Host-slipway_key=secret; =slipway_console=secret; slipway_console_x=slipway_console';
const MINE = ['mine=1; Path=/', 'slipway_consoles=2'];
const SET = [
  MINE[0]!,
  'slipway_console=evil; Path=/console',
  'slipway_console =evil',
  '=slipway_console=evil',
  'slipway_console',
  '__Host-slipway_console=evil; Path=/; Secure',
  'slipway_key=evil',
  MINE[1]!,
];

/** The Cookie header that the worker received, and the cookies that its client received. */
interface Seen {
  headers: string[];
  setCookie: readonly string[];
}

/** Requests a path of the worker (lb-worker.mjs) with a Cookie header, through `ask`. */
export async function checkConsoleCookie(t: Test, ask: (path: string, cookie: string) => Promise<Seen>): Promise<void> {
  const path = `/cookies?${SET.map((text) => `set=${encodeURIComponent(text)}`).join('&')}`;
  const { headers, setCookie } = await ask(path, SENT);
  t.same(
    headers.filter((_, index) => index % 2 === 1 && /^cookie$/i.test(headers[index - 1]!)),
    ['a=1; b=2; slipway_console_x=slipway_console'],
  );
  t.same(
    setCookie.map((text) => text.replace(/Path=\/v2\/\w+\//, 'Path=/')),
    MINE,
  );
  const alone = await ask('/cookies', 'slipway_console=secret');
  t.notOk(
    alone.headers.some((text) => /^cookie$/i.test(text)),
    'nothing is left of it',
  );
}
