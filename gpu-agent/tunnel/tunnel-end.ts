/**
 * The machine's end of one tunnel (kit/net/tunnel.ts): each stream becomes a connection to the worker that it names,
 * and to nothing else.
 */

import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { constants, performServerHandshake } from 'node:http2';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { TUNNEL_OPTIONS, watchTunnel } from '@slipway/kit/net/tunnel';
import type { Clock } from '@slipway/kit/time/clock';

/** Longest time until one side ends after the other has ended, in milliseconds. */
const END_MS = 5_000;

/** Address of a listener, as seen from this host. */
interface TunnelTarget {
  host: string;
  port: number;
}

/** Dependencies of a tunnel's end. */
export interface TunnelEndOptions {
  /** Returns the address of a stream's target; `undefined` if there is none here, or if facades may not reach it. */
  find(name: string): TunnelTarget | undefined;
  clock: Clock;
}

/** Serves a tunnel on a connection that a facade has accepted, until either side ends it. */
export function serveTunnel(socket: Socket, { find, clock }: TunnelEndOptions): ServerHttp2Session {
  const session = performServerHandshake(socket, TUNNEL_OPTIONS);
  watchTunnel(session, clock);
  session.on('stream', (stream, headers) => join(stream, headers, find, clock));
  return session;
}

function join(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  find: TunnelEndOptions['find'],
  clock: Clock,
): void {
  stream.on('error', () => undefined);
  const name = headers[':authority'];
  const target = headers[':method'] === 'CONNECT' && name !== undefined ? find(name) : undefined;
  if (!target) return stream.respond({ ':status': 404 }, { endStream: true });
  const worker = connect({ ...target, noDelay: true });
  let isOpen = false;
  worker.once('connect', () => {
    if (stream.destroyed) return;
    isOpen = true;
    stream.respond({ ':status': 200 });
    stream.pipe(worker);
    worker.pipe(stream);
  });
  // A cut on one side must be a cut on the other: a regular end would look like a complete answer.
  worker.on('error', () =>
    isOpen || stream.destroyed ? stream.close(constants.NGHTTP2_CONNECT_ERROR) : reject(stream),
  );
  endTogether(stream, worker, clock);
}

function reject(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 502 }, { endStream: true });
}

function endTogether(stream: ServerHttp2Stream, worker: Socket, clock: Clock): void {
  stream.once('end', () => {
    const timer = clock.after(END_MS, () => worker.destroy());
    worker.once('close', () => timer.cancel());
  });
  worker.once('close', () => {
    // The worker has answered before everything was sent: the rest is discarded. A reset would also discard the end of
    // its answer.
    stream.resume();
    const timer = clock.after(END_MS, () => stream.close(constants.NGHTTP2_CANCEL));
    stream.once('close', () => timer.cancel());
  });
  stream.once('close', () => worker.destroy());
}
