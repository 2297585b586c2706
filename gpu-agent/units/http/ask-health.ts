/** One GET of a worker's health path, on a connection of its own. */
import type { Clock } from '../../../core/runtime/clock.ts';
import { request } from '../../../core/runtime/node-http.ts';

/** Longest wait for an answer in milliseconds. */
export const ANSWER_MS = 2_000;

/** Where to ask. */
export interface HealthTarget {
  host: string;
  port: number;
  path: string;
}

/** The status that it answers; undefined: nobody listens, or nothing came in time, however much came of it. Never rejects. */
export function askHealth({ host, port, path }: HealthTarget, clock: Clock): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path, agent: false, headers: { connection: 'close' } });
    const timer = clock.after(ANSWER_MS, () => asked.destroy());
    asked.once('response', (response) => {
      resolve(response.statusCode);
      // Whatever it says besides is of no interest, and may never end.
      response.destroy();
    });
    asked.on('error', () => resolve(undefined));
    asked.once('close', () => {
      timer.cancel();
      resolve(undefined);
    });
    asked.end();
  });
}
