/**
 * GET and HEAD requests for models: redirects within bounds, a token that no other host gets to see, and an end for
 * connections that fall silent.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { request as requestHttp } from '@slipway/kit/net/node-http';

/** A request. */
interface HttpAsk {
  url: string;
  method?: 'GET' | 'HEAD';
  /** Sent to the host of `url` alone. Empty: none. */
  token: string;
  /** First byte that is wanted. Default 0: all. */
  offset?: number;
  /** `all` follows redirects to any host; `own` only those to the same host, and returns the others. */
  follow: 'all' | 'own';
  /** Opens a connection for this request alone. */
  isAlone?: boolean;
  /** Milliseconds without a byte after which the connection is given up. */
  silenceMs: number;
  signal: AbortSignal;
}

/** A response whose body has not been read. */
export interface HttpReply {
  status: number;
  headers: IncomingMessage['headers'];
  /** Read or destroy it. */
  body: IncomingMessage;
}

const REDIRECTS_MAX = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const AGENT = 'slipway-agent';

/** Sends a request. Rejects if no response comes, or `signal` aborts; that also ends the body. */
export async function ask(options: HttpAsk): Promise<HttpReply> {
  const origin = new URL(options.url).origin;
  let url = options.url;
  for (let redirects = 0; ; redirects += 1) {
    const reply = await send(url, new URL(url).origin === origin ? options.token : '', options);
    const { location } = reply.headers;
    if (!REDIRECTS.has(reply.status) || location === undefined) return reply;
    const next = nextUrl(location, url);
    if (options.follow === 'own' && next.origin !== origin) return reply;
    leave(reply.body);
    if (redirects === REDIRECTS_MAX) throw new Error(`more than ${REDIRECTS_MAX} redirects from ${hostOf(origin)}`);
    url = next.href;
  }
}

/** Reads a body of at most `bytesMax` bytes as text. Rejects if it is longer. */
export async function readText({ body }: HttpReply, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += (part as Buffer).length;
    if (bytes > bytesMax) {
      leave(body);
      throw new Error(`the response is longer than ${bytesMax} bytes`);
    }
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Ends the reading of a body. After a complete body the connection may already serve another request. */
export function leave(body: Readable): void {
  if (!body.readableEnded) body.destroy();
}

/** Returns the host of an address, for people. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** Returns the target of a redirect. Throws if it leaves HTTP, or encryption. */
function nextUrl(location: string, from: string): URL {
  if (!URL.canParse(location, from)) throw new Error('the hub redirects to an address that is none');
  const next = new URL(location, from);
  const isKept = next.protocol === 'https:' || (next.protocol === 'http:' && new URL(from).protocol === 'http:');
  if (!isKept) throw new Error(`the hub redirects from https to ${next.protocol}//${next.host}`);
  return next;
}

function send(url: string, token: string, options: HttpAsk): Promise<HttpReply> {
  const { method = 'GET', offset = 0, isAlone = false, silenceMs, signal } = options;
  const headers = {
    'user-agent': AGENT,
    'accept-encoding': 'identity',
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(offset > 0 && { range: `bytes=${offset}-` }),
  };
  return new Promise((resolve, reject) => {
    const asking = requestOf(url)(url, { method, headers, ...(isAlone && { agent: false }) });
    let body: IncomingMessage | undefined;
    // The body first: a request that is destroyed drops its response without an error.
    const end = (error: Error): unknown => (body ?? asking).destroy(error);
    const abort = (): unknown => end(signal.reason as Error);
    asking.setTimeout(silenceMs, () => end(new Error(`${hostOf(url)} sent nothing for ${silenceMs / 1_000} s`)));
    asking.on('error', reject);
    asking.once('close', () => signal.removeEventListener('abort', abort));
    asking.once('response', (response) => {
      body = response;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    asking.end();
  });
}

/** Returns the function for the URL's protocol. The module of TLS is loaded when it is first needed. */
function requestOf(url: string): typeof requestHttp {
  return url.startsWith('https:') ? process.getBuiltinModule('node:https').request : requestHttp;
}
