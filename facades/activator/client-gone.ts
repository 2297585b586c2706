/** Tells when the client of a request has gone. */
import type { ServerResponse } from 'node:http';
import type { UpgradeSocket } from './upgrade-socket.ts';

/** Aborts when it goes; aborted already when it went while its key was looked at, of which nobody tells any more. */
export function clientGone(reply: ServerResponse, upgrade: UpgradeSocket | undefined): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.once('close', leave);
  upgrade?.socket.once('close', leave);
  if (reply.closed || upgrade?.socket.destroyed) leave();
  return gone.signal;
}
