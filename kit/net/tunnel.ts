/**
 * Tunnels: connections that an agent opens to facades, so that these reach workers of a machine that cannot be dialled.
 * The agent asks for an upgrade of an HTTP/1.1 request; from then on the roles are turned round: the facade is an
 * HTTP/2 client, the agent the server. Each stream is one connection to a worker, `CONNECT` with the worker's id for an
 * authority, answered by 200 once the worker has taken it: bytes both ways, of whatever protocol. The facade's end of a
 * stream ends the connection; the worker's end ends the stream; what was cut is reset.
 */
import type { Http2Session } from 'node:http2';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';

/** Address of what is reached through tunnels only, as an agent reports it (agent_service.proto). */
export const TUNNEL_ADDRESS = 'tunnel';
/**
 * Path of the request, before the number of the facade that is wanted: behind an edge are several, and each must have a
 * tunnel.
 */
export const TUNNEL_PATH = '/edge/tunnel/';
/** Protocol of the upgrade. */
export const TUNNEL_PROTOCOL = 'slipway-tunnel';
/** Response header of an edge: its number of facades. Without it there is one. */
export const TUNNEL_COUNT_HEADER = 'x-slipway-facades';
/** Most facades of one edge to which an agent opens tunnels. */
export const TUNNEL_FACADES_MAX = 64;

/** Most concurrent connections of one tunnel. */
export const TUNNEL_STREAMS_MAX = 2_000;
/**
 * Maximum unread bytes of one connection in transit, so that an unread connection does not block others: 10 MB/s
 * where an answer takes 50 ms. All connections of a tunnel have their own; what both sides may hold is this much for
 * each that is not read.
 */
const WINDOW_BYTES = 512 * 1024;
/** Memory of a tunnel above which it accepts no new connection, in MB. */
const MEMORY_MB_MAX = 256;

/**
 * Options of both sides. Clients that leave reset their streams; many resets must not end the tunnel for all.
 */
export const TUNNEL_OPTIONS = {
  settings: { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: TUNNEL_STREAMS_MAX, enablePush: false },
  maxSessionMemory: MEMORY_MB_MAX,
  streamResetBurst: 1_000_000,
  streamResetRate: 1_000_000,
};

/** The part of a clock that a tunnel needs. */
interface TunnelClock {
  after(delayMs: number, fn: () => void): { cancel(): void };
}

/**
 * Ends a tunnel whose other side is silent, for example after a partition. It counts unanswered pings, not
 * time: a process or machine that stood still finds the answers of the meantime unread, and must read them before it
 * judges.
 */
export function watchTunnel(session: Http2Session, clock: TunnelClock): void {
  const { tunnelPingMs: pingMs, tunnelSilenceMs: silenceMs } = LINK_TIMERS;
  const unansweredMax = Math.ceil(silenceMs / pingMs) - 1;
  let unanswered = 0;
  const check = (): { cancel(): void } =>
    clock.after(pingMs, () => {
      if (session.destroyed) return;
      if (unanswered >= unansweredMax)
        return session.destroy(new Error(`the other side was silent for ${silenceMs / 1_000} s`));
      unanswered += 1;
      session.ping((error) => {
        if (!error) unanswered = 0;
      });
      timer = check();
    });
  let timer = check();
  session.once('close', () => timer.cancel());
}
