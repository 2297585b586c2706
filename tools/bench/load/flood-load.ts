/**
 * A child that keeps a facade busy for a while in one of several ways, like a client that ignores rejections. It counts
 * the answers.
 */

import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:http';
import { serveParent } from '../child.ts';

/** Requests to send. */
export interface Flood {
  url: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  /**
   * Body; `{n}` in it stands for the number of the request. With `bytes`, a job with an input of that many bytes is
   * sent instead.
   */
  body: string;
  bytes?: number;
  /** Number of connections. 0: nothing is sent, and the child only keeps a processor busy. */
  connections: number;
}

/** Number of answers by status, and of broken connections. */
export type FloodResult = Record<string, number>;

/** Time between two checks whether the flood has ended, in milliseconds. */
const SPIN_MS = 10;

let stopped = true;
let loops: Promise<void>[] = [];
let counts: FloodResult = {};
let agents: Agent[] = [];
let requests = 0;

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

/** Keeps a processor busy until the flood ends. */
function spin(): void {
  const until = performance.now() + SPIN_MS;
  while (performance.now() < until);
  if (!stopped) setImmediate(spin);
}

function begin(flood: Flood): void {
  stopped = false;
  counts = {};
  if (flood.connections === 0) return spin();
  const body = flood.bytes === undefined ? flood.body : JSON.stringify({ input: { text: 'x'.repeat(flood.bytes) } });
  const isNumbered = flood.bytes === undefined && body.includes('{n}');
  loops = Array.from({ length: flood.connections }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    while (!stopped) await once(flood, agent, isNumbered ? body.replace('{n}', String((requests += 1))) : body);
  });
}

/** Ends the flood, and breaks off requests in progress. */
function end(): FloodResult {
  stopped = true;
  const answered = counts;
  counts = {};
  for (const agent of agents) agent.destroy();
  agents = [];
  void Promise.all(loops);
  return answered;
}

serveParent({}, { begin, end });
