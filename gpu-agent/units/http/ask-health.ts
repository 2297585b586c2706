/** One GET of a worker's health path, on a connection of its own. */

import { request } from '@slipway/kit/net/node-http';
import type { Clock } from '@slipway/kit/time/clock';

/** Longest wait for an answer in milliseconds. */
export const ANSWER_MS = 2_000;

/** Where to ask. */
export interface HealthTarget {
  host: string;
  port: number;
  path: string;
}

/**
 * A status; or nobody listens, nothing came in time, however much came of it, or the connection ended without an answer
 * that is one.
 */
export type HealthAnswer = number | 'REFUSED' | 'SLOW' | 'CUT';

/** No server is to be reached there, which is not the same as one that does not answer. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']);

/** Names the end of a connection that brought no answer. */
export function answerOfError(error: Error): HealthAnswer {
  return REFUSALS.has((error as NodeJS.ErrnoException).code) ? 'REFUSED' : 'CUT';
}

/** Asks. Never rejects. */
export function askHealth({ host, port, path }: HealthTarget, clock: Clock): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path, agent: false, headers: { connection: 'close' } });
    const timer = clock.after(ANSWER_MS, () => {
      resolve('SLOW');
      asked.destroy();
    });
    asked.once('response', (response) => {
      resolve(response.statusCode ?? 'CUT');
      // Whatever it says besides is of no interest, and may never end.
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
