/**
 * Tunnels: connections that an agent opens to facades, so that these reach workers of a machine that cannot be dialled. The agent asks for an upgrade
 * of an HTTP/1.1 request; from then on the roles are turned round: the facade is an HTTP/2 client, the agent the server. Each stream is one connection
 * to a worker, `CONNECT` with the worker's id for an authority, answered by 200 once the worker has taken it: bytes both ways, of whatever protocol.
 * The facade's end of a stream ends the connection; the worker's end ends the stream; what was cut is reset.
 */
import type { Http2Session } from 'node:http2';

/** Address of what is reached through tunnels only, as an agent reports it (agent_service.proto). */
export const TUNNEL_ADDRESS = 'tunnel';
/** Path of the request, before the number of the facade that is wanted: behind an edge are several, and each must have a tunnel. */
export const TUNNEL_PATH = '/edge/tunnel/';
/** What the request asks for an upgrade to. */
export const TUNNEL_PROTOCOL = 'slipway-tunnel';
/** In the answer of an edge: how many facades it has. Without it there is one. */
export const TUNNEL_COUNT_HEADER = 'x-slipway-facades';
/** Facades of one edge that an agent opens tunnels to, the most. */
export const TUNNEL_FACADES_MAX = 64;

/** Connections that one tunnel carries at a time. */
export const TUNNEL_STREAMS_MAX = 2_000;
/**
 * Bytes of one connection that may be on their way unread, so that one that is not read holds up no other: 10 MB/s where an answer takes 50 ms. All
 * connections of a tunnel have their own; what both sides may hold is this much for each that is not read.
 */
const WINDOW_BYTES = 512 * 1024;
/** Memory of a tunnel beyond which it takes no new connection, in MB. */
const MEMORY_MB_MAX = 256;
/** How often each side asks whether the other is there, and how long it may be silent, in milliseconds. */
const PING_MS = 5_000;
const SILENCE_MS = 15_000;

/** Options of both sides. Clients that leave reset their streams, and nobody may end a tunnel for all by doing so often. */
export const TUNNEL_OPTIONS = {
  settings: { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: TUNNEL_STREAMS_MAX, enablePush: false },
  maxSessionMemory: MEMORY_MB_MAX, streamResetBurst: 1_000_000, streamResetRate: 1_000_000,
};

/** As much of a clock as a tunnel needs. */
interface TunnelClock {
  monotonicMs(): number;
  after(delayMs: number, fn: () => void): { cancel(): void };
}

/** Ends a tunnel whose other side is silent: a partition says nothing by itself. */
export function watchTunnel(session: Http2Session, clock: TunnelClock): void {
  let heardAtMs = clock.monotonicMs();
  const look = (): { cancel(): void } => clock.after(PING_MS, () => {
    if (session.destroyed) return;
    if (clock.monotonicMs() - heardAtMs >= SILENCE_MS) return session.destroy(new Error(`the other side was silent for ${SILENCE_MS / 1_000} s`));
    session.ping((error) => { if (!error) heardAtMs = clock.monotonicMs(); });
    timer = look();
  });
  let timer = look();
  session.once('close', () => timer.cancel());
}
