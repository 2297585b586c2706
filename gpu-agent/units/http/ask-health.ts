/** One GET of a worker's health path, on a connection of its own. */
import { request } from 'node:http';

/** Longest wait for an answer in milliseconds. */
const ANSWER_MS = 2_000;

/** Where to ask. */
export interface HealthTarget {
  host: string;
  port: number;
  path: string;
}

/** The status that it answers; undefined: nobody listens, or nothing came in time. Never rejects. */
export function askHealth({ host, port, path }: HealthTarget): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path, agent: false, headers: { connection: 'close' }, timeout: ANSWER_MS });
    asked.once('response', (response) => {
      resolve(response.statusCode);
      // Whatever it says besides is of no interest, and may never end.
      response.destroy();
    });
    asked.once('timeout', () => asked.destroy());
    asked.on('error', () => resolve(undefined));
    asked.once('close', () => resolve(undefined));
    asked.end();
  });
}
