/** Watches whether the client of a request has disconnected. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { UpgradeSocket } from './upgrade-socket.ts';

/** Reason of the signal. One for all, because thousands may disconnect at a time, and a new error records its stack. */
export const CLIENT_GONE = new Error('the client has disconnected');

/**
 * Watches a socket for its end without reading data: a socket that is not read emits no end. Early bytes stay in its
 * buffer.
 */
function watch(socket: Socket, leave: () => void): void {
  const check = (): void => {
    if (socket.readableLength === 0) socket.read(0);
  };
  socket.on('readable', check);
  socket.once('end', leave);
  socket.once('close', leave);
}

/**
 * Returns a signal that aborts when the client disconnects. It is aborted already if that happened while the key was
 * checked.
 */
export function clientGone(reply: ServerResponse, upgrade: UpgradeSocket | undefined): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(CLIENT_GONE);
  reply.once('close', leave);
  if (upgrade) watch(upgrade.socket, leave);
  if (reply.closed || upgrade?.socket.destroyed) leave();
  return gone.signal;
}
