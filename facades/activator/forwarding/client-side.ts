/** The client's side of a forwarded request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { WatchKey } from '../../plugins/limits/key-watch.ts';
import type { LbTarget } from '../lb-target.ts';
import type { RequestCount } from '../request-count.ts';

/** A client, its request, and where the response goes. */
export interface ClientSide {
  request: IncomingMessage;
  reply: ServerResponse;
  target: LbTarget;
  /** Aborts when the client has disconnected. */
  gone: AbortSignal;
  /** Socket of a request that asks for another protocol, and the bytes that followed the request. */
  upgrade?: { socket: Socket; head: Buffer } | undefined;
  /** Watches the key while an upgraded connection is open. Absent if no key opened it. */
  watchKey?: WatchKey | undefined;
  /** Counts the request. Absent for pods. */
  count?: RequestCount;
}
