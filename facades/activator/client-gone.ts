/** Tells when the client of a request has gone. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { UpgradeSocket } from './upgrade-socket.ts';

/** A socket that nobody reads says nothing of its end. What comes before it is joined to another one stays in its buffer, and is no more than that. */
function watch(socket: Socket, leave: () => void): void {
  const look = (): void => { if (socket.readableLength === 0) socket.read(0); };
  socket.on('readable', look);
  socket.once('end', leave);
  socket.once('close', leave);
}

/** Aborts when it goes; aborted already when it went while its key was looked at, of which nobody tells any more. */
export function clientGone(reply: ServerResponse, upgrade: UpgradeSocket | undefined): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.once('close', leave);
  if (upgrade) watch(upgrade.socket, leave);
  if (reply.closed || upgrade?.socket.destroyed) leave();
  return gone.signal;
}
