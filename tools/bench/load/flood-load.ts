/**
 * A child that keeps a facade busy in one of several ways for a while, as somebody who does not heed refusals does; and
 * counts what it was answered.
 */

import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:http';
import { serveParent } from '../child.ts';

/** What to send. */
export interface Flood {
  url: string;
  /** Path, `{n}` in it stands for the number of the request. */
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  /** Sent as it is; `bytes`: a job with an input of so many bytes instead. */
  body: string;
  bytes?: number;
  connections: number;
}

/** How often it was answered with which status, and how often the connection broke. */
export type FloodResult = Record<string, number>;

let stopped = true;
let loops: Promise<void>[] = [];
let counts: FloodResult = {};

function once(flood: Flood, agent: Agent, body: string): Promise<void> {
  return new Promise((resolve) => {
    const end = (what: string): void => {
      counts[what] = (counts[what] ?? 0) + 1;
      resolve();
    };
    const headers = {
      ...flood.headers,
      'content-type': 'application/json',
      ...(flood.method === 'POST' && { 'content-length': Buffer.byteLength(body) }),
    };
    const sent = request(
      flood.url + flood.path,
      { method: flood.method, headers, agent },
      (answer: IncomingMessage) => {
        answer.resume();
        answer.once('close', () => end(String(answer.statusCode)));
      },
    );
    sent.once('error', () => end('broken'));
    sent.end(flood.method === 'POST' ? body : undefined);
  });
}

function begin(flood: Flood): void {
  stopped = false;
  counts = {};
  const body = flood.bytes === undefined ? flood.body : JSON.stringify({ input: { text: 'x'.repeat(flood.bytes) } });
  loops = Array.from({ length: flood.connections }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) await once(flood, agent, body);
    agent.destroy();
  });
}

/** Answers that are still waited for end with the process. */
function end(): FloodResult {
  stopped = true;
  void Promise.all(loops);
  return counts;
}

serveParent({}, { begin, end });
