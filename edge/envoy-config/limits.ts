/**
 * Times and sizes of the edge. All are derived from the project's own (proto/wire/limits.ts), so that the edge cuts off
 * nothing that the service allows. Their relations are checked when the file loads.
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

/** Headers and URI of a request in KiB, in Envoy's way of counting. */
export const HEADERS_KIB_MAX = HTTP_HEADER_BYTES_MAX / KIB;
/** Headers of a facade's answer: the worker's plus the facade's own. */
export const ANSWER_HEADERS_MAX = LB_ANSWER_HEADERS_MAX + 20;
export const ANSWER_HEADERS_KIB_MAX = LB_ANSWER_HEADER_BYTES_MAX / KIB + 16;
/** Longest time for the headers of a request, in milliseconds. */
export const HEADERS_MS = HTTP_HEADERS_MS;

/**
 * Longest wait of a facade, in milliseconds: for a job, or for a worker of a load-balancing endpoint and then for its
 * answer.
 */
const FACADE_WAIT_MS = Math.max(WAIT_MS_MAX, LB_HOLD_MS_DEFAULT + LB_PROCESSING_MS_DEFAULT);
/**
 * Longest silence on a request to a facade, in milliseconds. It is the facade's longest wait plus the grace that the
 * facade gives others, plus the same grace for the facade itself, so that the facade's own answer always comes first.
 * There is no limit on a whole request: each part of it has its own limit in the facade, and a stream lives as long as
 * it sends something.
 */
export const REQUEST_SILENCE_MS = FACADE_WAIT_MS + 2 * WAIT_GRACE_MS;
/** Returns the same limit for a WebSocket, whose own limit is kept by a facade. */
export function socketSilenceMs(idleMs: number): number {
  return idleMs + 2 * WAIT_GRACE_MS;
}
/** Default of the longest time for a worker's answer, in milliseconds. */
export const DIRECT_ANSWER_MS = FACADE_WAIT_MS;
/**
 * Longest time for a facade to authorize a request, in milliseconds. Longer than it waits for core's answer about a key
 * that it knows.
 */
export const AUTHORIZE_MS = 3_000;
/** The same for a gRPC call, which waits there for a worker, in milliseconds. */
export const AUTHORIZE_GRPC_MS = LB_HOLD_MS_DEFAULT + AUTHORIZE_MS;
/**
 * How long an idle connection to a facade is kept, in milliseconds. Shorter than the facade keeps it, so that no
 * request meets a connection that is just closing.
 */
export const FACADE_IDLE_MS = HTTP_KEEP_ALIVE_MS - 12_000;
/** How long an idle connection of a client is kept, in milliseconds. */
export const CLIENT_IDLE_MS = HTTP_KEEP_ALIVE_MS;
/** Longest time for a handshake, in milliseconds. */
export const HANDSHAKE_MS = 10_000;
/** Longest time to connect to our own parts, in milliseconds. */
export const CONNECT_MS = 2_000;

/**
 * Most simultaneous streams on a client's HTTP/2 connection, and on one to core. Beyond it another connection is
 * opened, so that a broken one ends few calls.
 */
export const CLIENT_STREAMS_MAX = 256;
export const CORE_STREAMS_MAX = 200;
/**
 * Receive windows in bytes. A client's stream must not fill the memory. A message of core or of an agent may travel
 * whole.
 */
export const CLIENT_WINDOW_BYTES = 256 * KIB;
export const CLIENT_CONNECTION_WINDOW_BYTES = 4 * MIB;
export const CORE_WINDOW_BYTES = 4 * MIB;
export const CORE_CONNECTION_WINDOW_BYTES = MESSAGE_BYTES_MAX;
/**
 * Bytes that are buffered for one connection before its other side must wait. This is a watermark, not a limit on a
 * body.
 */
export const BUFFER_BYTES = MIB;
/** Pings on long-lived HTTP/2 connections, in milliseconds: their period, and the longest time for an answer. */
export const PING_MS = LINK_TIMERS.pingMs;
export const PING_ANSWER_MS = LINK_TIMERS.pingAnswerMs;

if (HEADERS_KIB_MAX % 1 !== 0) throw new Error('Envoy counts headers in whole KiB');
if (REQUEST_SILENCE_MS < WAIT_MS_MAX + 10_000) throw new Error('the edge would cut the longest wait');
if (FACADE_IDLE_MS >= HTTP_KEEP_ALIVE_MS) throw new Error('the edge would send on connections that the facade closes');
/** Longest wait of a starting Envoy for core's first configuration before it takes requests, in milliseconds. */
export const TOLD_FIRST_MS = 3_000;
/**
 * Retries of a gRPC call to a worker that core is about to send to the edge, and pauses between them in milliseconds.
 * Together about two seconds.
 */
export const ANNOUNCED_TRIES = 20;
export const ANNOUNCED_PAUSE_MS = { first: 25, max: 250 } as const;
