/**
 * Times and sizes of the edge, all made of the project's own (proto/wire/limits.ts), so that nothing that the service
 * allows is cut on its way. Relations are checked when the file loads.
 */
import {
  HTTP_HEADER_BYTES_MAX,
  HTTP_HEADERS_MS,
  HTTP_KEEP_ALIVE_MS,
  LB_ANSWER_HEADER_BYTES_MAX,
  LB_ANSWER_HEADERS_MAX,
  LB_HOLD_MS_DEFAULT,
  LB_PROCESSING_MS_DEFAULT,
  MESSAGE_BYTES_MAX,
  WAIT_GRACE_MS,
  WAIT_MS_MAX,
} from '@slipway/proto/wire/limits';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Headers and URI of a request in KiB, as Envoy counts. */
export const HEADERS_KIB_MAX = HTTP_HEADER_BYTES_MAX / KIB;
/** Headers of a facade's answer: those of a worker and what the facade adds. */
export const ANSWER_HEADERS_MAX = LB_ANSWER_HEADERS_MAX + 20;
export const ANSWER_HEADERS_KIB_MAX = LB_ANSWER_HEADER_BYTES_MAX / KIB + 16;
/** Longest time for the headers of a request, in milliseconds. */
export const HEADERS_MS = HTTP_HEADERS_MS;

/**
 * Longest wait of a facade for anything: for a job, or for a worker of a load-balancing endpoint and then for its
 * answer.
 */
const FACADE_WAIT_MS = Math.max(WAIT_MS_MAX, LB_HOLD_MS_DEFAULT + LB_PROCESSING_MS_DEFAULT);
/**
 * Longest silence on a request to a facade, in milliseconds: its longest wait, the time it gives others beyond that,
 * and as much for itself, so that the facade's own answer is always first. There is no limit on a whole request: every
 * part of one has its own limit in the facade, and streams live as long as they say something.
 */
export const REQUEST_SILENCE_MS = FACADE_WAIT_MS + 2 * WAIT_GRACE_MS;
/** The same of a WebSocket whose own limit a facade keeps. */
export function socketSilenceMs(idleMs: number): number {
  return idleMs + 2 * WAIT_GRACE_MS;
}
/** Longest time for an answer of a worker where nobody says another, in milliseconds. */
export const DIRECT_ANSWER_MS = FACADE_WAIT_MS;
/**
 * How long a facade may think about a request, in milliseconds: longer than it waits for core to say something of a key
 * that it knows.
 */
export const AUTHORIZE_MS = 3_000;
/** The same of a call by gRPC, which waits there for a worker, in milliseconds. */
export const AUTHORIZE_GRPC_MS = LB_HOLD_MS_DEFAULT + AUTHORIZE_MS;
/**
 * How long an idle connection to a facade is kept, in milliseconds. Shorter than the facade keeps it: what is sent
 * meets no closing door.
 */
export const FACADE_IDLE_MS = HTTP_KEEP_ALIVE_MS - 12_000;
/** How long an idle connection of a client is kept, in milliseconds. */
export const CLIENT_IDLE_MS = HTTP_KEEP_ALIVE_MS;
/** A handshake that is not done after this many milliseconds is given up. */
export const HANDSHAKE_MS = 10_000;
/** Connections to our own parts are made within this many milliseconds or not at all. */
export const CONNECT_MS = 2_000;

/**
 * Streams at a time on a client's HTTP/2 connection, and on one to core: then another is opened, so that a broken one
 * takes few calls along.
 */
export const CLIENT_STREAMS_MAX = 256;
export const CORE_STREAMS_MAX = 200;
/**
 * Receive windows in bytes: a client's stream may not fill memory, a message of core or of an agent may travel whole.
 */
export const CLIENT_WINDOW_BYTES = 256 * KIB;
export const CLIENT_CONNECTION_WINDOW_BYTES = 4 * MIB;
export const CORE_WINDOW_BYTES = 4 * MIB;
export const CORE_CONNECTION_WINDOW_BYTES = MESSAGE_BYTES_MAX;
/** What is held of one connection, in bytes, before its other side must wait. A watermark, no limit on a body. */
export const BUFFER_BYTES = MIB;
/** Pings on long HTTP/2 connections, in milliseconds: how often, and how long the answer may take. */
export const PING_MS = LINK_TIMERS.pingMs;
export const PING_ANSWER_MS = LINK_TIMERS.pingAnswerMs;

if (HEADERS_KIB_MAX % 1 !== 0) throw new Error('Envoy counts headers in whole KiB');
if (REQUEST_SILENCE_MS < WAIT_MS_MAX + 10_000) throw new Error('the edge would cut the longest wait');
if (FACADE_IDLE_MS >= HTTP_KEEP_ALIVE_MS) throw new Error('the edge would send on connections that the facade closes');
/** How long an Envoy that starts waits for core's first word, in milliseconds, before it takes requests. */
export const TOLD_FIRST_MS = 3_000;
/**
 * How often, and with what pauses in milliseconds, a call by gRPC looks for a worker that the edge is about to be told
 * of: for about two seconds.
 */
export const TOLD_TRIES = 20;
export const TOLD_PAUSE_MS = { first: 25, max: 250 } as const;
