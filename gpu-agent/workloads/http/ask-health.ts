/** Sends one GET to a worker's health path, on its own connection. */

import { request } from '@slipway/kit/net/node-http';
import type { Clock } from '@slipway/kit/time/clock';

/** Longest wait for a response, in milliseconds. */
export const ANSWER_MS = 2_000;

/** Address and path of the health check. */
export interface HealthTarget {
  host: string;
  port: number;
  path: string;
}

/**
 * The HTTP status, or the failure. REFUSED: nothing listens. SLOW: no complete response head in time, even if some
 * bytes came. CUT: the connection ended without a valid response.
 */
export type HealthAnswer = number | 'REFUSED' | 'SLOW' | 'CUT';

/** Error codes that mean that no server can be reached, which differs from a server that does not respond. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']);

/** Returns the result for a connection that failed with this error. */
export function answerOfError(error: Error): HealthAnswer {
  return REFUSALS.has((error as NodeJS.ErrnoException).code) ? 'REFUSED' : 'CUT';
}

/** Checks the server's health once. Never rejects. */
export function askHealth({ host, port, path }: HealthTarget, clock: Clock): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path, agent: false, headers: { connection: 'close' } });
    const timer = clock.after(ANSWER_MS, () => {
      resolve('SLOW');
      asked.destroy();
    });
    asked.once('response', (response) => {
      resolve(response.statusCode ?? 'CUT');
      // The body is not needed, and may never end.
      response.destroy();
    });
    asked.on('error', (error) => resolve(answerOfError(error)));
    asked.once('close', () => {
      timer.cancel();
      resolve('CUT');
    });
    asked.end();
  });
}
