/**
 * Finds out whether each connection to an HTTP server carries one request only. There are two such cases. The server
 * ends connections that are idle for a moment: a request that is sent just then is lost and may not be sent again. Or
 * the server accepts no other connection while one is open. Most servers keep connections for 5 s or more, and serve
 * many.
 */
import type { Socket } from 'node:net';
import { Agent, request } from '@slipway/kit/net/node-http';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { HealthTarget } from './ask-health.ts';
import { askHealth } from './ask-health.ts';

/**
 * How long an idle connection is watched, in milliseconds: twice as long as proxies keep one
 * (core/rpc/ads/snapshot.ts).
 */
const WATCHED_MS = 2_000;
/**
 * A server that does not respond on another connection within this time, in milliseconds, waits for the first to end.
 */
const OTHER_MS = 500;
/** A response that has not ended by then proves nothing, in milliseconds. */
const ANSWER_MS = 5_000;

/**
 * Sends one request and watches its connection. Returns false for a server that ends each connection itself, or that
 * gives no complete response. Never rejects.
 */
export function isSingleUse(target: HealthTarget, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const timers: Timer[] = [];
    const end = (answer: boolean): void => {
      for (const timer of timers) timer.cancel();
      resolve(answer);
      agent.destroy();
    };
    const endLater = (answer: boolean, ms: number): void => {
      timers.push(clock.after(ms, () => end(answer)));
    };
    agent.on('free', (socket: Socket) => {
      // The connection counts as cut only if the server still responds: the server itself may have ended.
      socket.once('close', () => {
        void askHealth(target, clock).then((status) => end(typeof status === 'number'));
      });
      const other = clock.after(OTHER_MS, () => end(true));
      timers.push(other);
      void askHealth(target, clock).then(() => other.cancel());
      endLater(false, WATCHED_MS);
    });
    endLater(false, ANSWER_MS);
    const asked = request({ ...target, agent });
    asked.once('response', (response) => {
      if (promisesLess(response.headers['keep-alive'])) return end(true);
      response.resume();
    });
    // The response has ended and its connection is not kept.
    asked.once('close', () => {
      if (!asked.reusedSocket && !asked.shouldKeepAlive) end(false);
    });
    asked.on('error', () => end(false));
    asked.end();
  });
}

/** Returns whether the server declares a keep-alive timeout, in seconds, that is shorter than WATCHED_MS. */
function promisesLess(header: string | string[] | undefined): boolean {
  const seconds = /(?:^|[,;\s])timeout=(\d{1,9})(?:$|[,;\s])/i.exec(String(header ?? ''))?.[1];
  return seconds !== undefined && Number(seconds) * 1_000 < WATCHED_MS;
}
