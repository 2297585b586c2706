/**
 * Replies that Envoy makes itself, in the formats of the surfaces (docs/reference/api.md#errors). Every error is JSON
 * with a code for programs.
 */
import type { ErrorCode } from '@slipway/kit/net/error-help';
import { ERRORS_PATH_OF_ANY_HOST, helpLink } from '@slipway/kit/net/help-link';
import { HEADERS_TOO_LARGE } from '@slipway/proto/wire/limits';
import type { Message } from '../message.ts';
import { ON_DIRECT_WAY } from './direct-way.ts';

/** A condition and the reply to send. */
interface Reply {
  /** Envoy's response flags. */
  flags?: readonly string[];
  /** Status of Envoy's original answer. */
  from?: number;
  status: number;
  code: ErrorCode;
  text: string;
  retryAfterSeconds?: number;
}

const WORKER_FAILED =
  'The worker ended the connection before it answered. The request may have been begun and is not repeated.';
const OVERLOADED = 'The service is overloaded; try again shortly.';
const UNAVAILABLE = 'The service is not reachable right now; try again shortly.';
/** Flag of requests that ext_authz rejects or cannot ask about. */
const REFUSED = 'UAEX';
/** Replies in order: the first match applies. */
const REPLIES: readonly Reply[] = [
  {
    from: 413,
    status: 413,
    code: 'payload_too_large',
    text: 'The body of the request or of its answer is larger than 30 MB.',
  },
  {
    from: 429,
    status: 429,
    code: 'rate_limited',
    text: 'Too many requests from this address; try again shortly.',
    retryAfterSeconds: 1,
  },
  { flags: ['UO'], status: 503, code: 'unavailable', text: OVERLOADED, retryAfterSeconds: 1 },
  {
    flags: ['UF', 'UH', 'UC', 'UR', 'LR', 'UPE'],
    status: 503,
    code: 'unavailable',
    text: UNAVAILABLE,
    retryAfterSeconds: 1,
  },
  { flags: ['UT', 'SI', 'DT'], status: 504, code: 'unavailable', text: 'The service did not answer in time.' },
  { flags: ['NR', 'NC'], status: 404, code: 'not_found', text: 'There is no such operation.' },
  // Paths without a slash, as `OPTIONS *` has. No flag is set yet.
  { from: 404, status: 404, code: 'not_found', text: 'There is no such operation.' },
  // The remaining 503: Envoy has no memory for more requests. It sets no flag then.
  { from: 503, status: 503, code: 'unavailable', text: OVERLOADED, retryAfterSeconds: 1 },
  { from: 431, status: 431, code: 'headers_too_large', text: HEADERS_TOO_LARGE },
  { from: 408, status: 408, code: 'invalid_request', text: 'The request did not arrive in time.' },
  { from: 426, status: 426, code: 'invalid_request', text: 'This version of HTTP is not served.' },
  // 403: an address of another scheme. 501: a transfer coding besides chunked.
  ...[400, 403, 501].map((from) => ({
    from,
    status: 400,
    code: 'invalid_request' as const,
    text: 'This is not a valid HTTP request.',
  })),
];

/** Replies on the direct path, where the worker fails (facades/activator/lb-error.ts has the same texts). */
const DIRECT_REPLIES: readonly Reply[] = [
  {
    flags: ['UO'],
    status: 429,
    code: 'rate_limited',
    text: 'Too many requests to the endpoint at a time; try again shortly.',
    retryAfterSeconds: 1,
  },
  {
    flags: ['UH', 'NC'],
    status: 503,
    code: 'no_workers_available',
    text: 'no workers available',
    retryAfterSeconds: 5,
  },
  { flags: ['UF', 'UC', 'UR', 'LR', 'UPE'], status: 502, code: 'worker_failed', text: WORKER_FAILED },
  { flags: ['UT', 'SI', 'DT'], status: 504, code: 'processing_timeout', text: 'The worker did not answer in time.' },
];

interface Shape {
  path: string;
  body(reply: Reply): Message;
}

/** Returns the OpenAI API's type of an error with this status. */
function openaiType(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

const QUEUE_SHAPE: Shape = { path: '', body: ({ text, code }) => ({ error: text, code }) };
/** Surfaces with their own error format, by path prefix. All others use the queue's format. */
const SHAPES: readonly Shape[] = [
  { path: '^/v1(/|\\?|$)', body: ({ text, status, code }) => ({ message: text, error: text, status, code }) },
  {
    path: '^/(v2/[^/]+/)?openai/',
    body: ({ text, status, code }) => ({
      error: {
        message: text,
        type: openaiType(status),
        param: null,
        code,
      },
    }),
  },
  QUEUE_SHAPE,
];

/** Returns the mappers of a connection manager. */
export function localReplies(): Message {
  return {
    mappers: [
      mapper(
        { flags: [REFUSED], from: 503, status: 503, code: 'unavailable', text: UNAVAILABLE, retryAfterSeconds: 1 },
        QUEUE_SHAPE,
      ),
      // Rejections by a facade that was asked keep the facade's own text.
      { filter: { response_flag_filter: { flags: [REFUSED] } } },
      ...DIRECT_REPLIES.map((reply) => mapper(reply, QUEUE_SHAPE, [ON_DIRECT_WAY])),
      ...REPLIES.flatMap((reply) => SHAPES.map((shape) => mapper(reply, shape))),
    ],
  };
}

function mapper(reply: Reply, { path, body }: Shape, more: readonly Message[] = []): Message {
  const filters = [
    ...more,
    ...(reply.flags ? [{ response_flag_filter: { flags: reply.flags } }] : []),
    ...(reply.from === undefined
      ? []
      : [
          {
            status_code_filter: { comparison: { op: 'EQ', value: { default_value: reply.from, runtime_key: 'none' } } },
          },
        ]),
    ...(path === ''
      ? []
      : [{ header_filter: { header: { name: ':path', string_match: { safe_regex: { regex: `${path}.*` } } } } }]),
  ];
  return {
    filter: filters.length === 1 ? filters[0] : { and_filter: { filters } },
    status_code: reply.status,
    body_format_override: { json_format: body(reply), content_type: 'application/json; charset=utf-8' },
    headers_to_add: [
      // Which host the request names is not known here.
      header('link', helpLink(reply.code, ERRORS_PATH_OF_ANY_HOST)),
      ...(reply.retryAfterSeconds === undefined ? [] : [header('retry-after', String(reply.retryAfterSeconds))]),
    ],
  };
}

function header(key: string, value: string): Message {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}
