/** What Envoy answers by itself, in the shapes of the surfaces (docs/api.md#errors): every error is JSON with a word for programs. */
import { HTTP_HEADER_BYTES_MAX } from '../../proto/wire/limits.ts';
import type { Message } from './message.ts';

/** When, and what then. */
interface Reply {
  /** Envoy's response flags. */
  flags?: readonly string[];
  /** Status that Envoy would answer. */
  from?: number;
  status: number;
  code: string;
  text: string;
  retryAfterSeconds?: number;
}

const UNAVAILABLE = 'The service is not reachable right now; try again shortly.';
/** The first that fits counts. */
const REPLIES: readonly Reply[] = [
  { from: 429, status: 429, code: 'rate_limited', text: 'Too many requests from this address; try again shortly.', retryAfterSeconds: 1 },
  { flags: ['OM', 'UO'], status: 503, code: 'unavailable', text: 'The service is overloaded; try again shortly.', retryAfterSeconds: 1 },
  { flags: ['UF', 'UH', 'UC', 'UR', 'LR', 'UPE'], status: 503, code: 'unavailable', text: UNAVAILABLE, retryAfterSeconds: 1 },
  { flags: ['UT', 'SI', 'DT'], status: 504, code: 'unavailable', text: 'The service did not answer in time.' },
  { flags: ['NR', 'NC'], status: 404, code: 'not_found', text: 'There is no such operation.' },
  { from: 431, status: 431, code: 'headers_too_large', text: `The URI and the headers may take ${HTTP_HEADER_BYTES_MAX} bytes together.` },
  { from: 408, status: 408, code: 'invalid_request', text: 'The request did not arrive in time.' },
  { from: 426, status: 426, code: 'invalid_request', text: 'This version of HTTP is not served.' },
  { from: 400, status: 400, code: 'invalid_request', text: 'This is not a valid HTTP request.' },
];

/** Surfaces whose errors have a shape of their own, by the start of the path. All others: the queue's. */
const SHAPES: readonly { path: string; body: (reply: Reply) => Message }[] = [
  { path: '^/v1(/|\\?|$)', body: ({ text, status, code }) => ({ message: text, error: text, status, code }) },
  { path: '^/v2/[^/]+/openai/', body: ({ text, status, code }) => ({
    error: { message: text, type: status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error', param: null, code },
  }) },
  { path: '', body: ({ text, code }) => ({ error: text, code }) },
];

/** The mappers of a connection manager. */
export function localReplies(): Message {
  return { mappers: REPLIES.flatMap((reply) => SHAPES.map((shape) => mapper(reply, shape))) };
}

function mapper(reply: Reply, { path, body }: (typeof SHAPES)[number]): Message {
  const filters = [
    ...(reply.flags ? [{ response_flag_filter: { flags: reply.flags } }] : []),
    ...(reply.from === undefined ? [] : [{ status_code_filter: { comparison: { op: 'EQ', value: { default_value: reply.from, runtime_key: 'none' } } } }]),
    ...(path === '' ? [] : [{ header_filter: { header: { name: ':path', string_match: { safe_regex: { regex: `${path}.*` } } } } }]),
  ];
  return {
    filter: filters.length === 1 ? filters[0] : { and_filter: { filters } },
    status_code: reply.status,
    body_format_override: { json_format: body(reply), content_type: 'application/json; charset=utf-8' },
    ...(reply.retryAfterSeconds === undefined ? {} : { headers_to_add: [header('retry-after', String(reply.retryAfterSeconds))] }),
  };
}

function header(key: string, value: string): Message {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}
