/**
 * HTTP requests to the agent over connections that stay open, with Node's own client: a package for it took a third of
 * the processor time of a worker's start, and 9 MB in each worker.
 */
import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http';
import { Agent, request } from './node-http.ts';

/** An answer of the agent. */
export interface AgentReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export class AgentCalls {
  readonly #agent: HttpAgent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #silenceMs: number;

  /**
   * `connections`: most open connections; further calls wait. `silenceMs`: milliseconds without data after which a call
   * fails; 0 means that it waits for ever.
   */
  constructor(
    headers: Readonly<Record<string, string>>,
    { connections, silenceMs }: { connections: number; silenceMs: number },
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });
    this.#headers = headers;
    this.#silenceMs = silenceMs;
  }

  /** Sends a GET, or a POST if there is a body. Rejects if the connection breaks. */
  send(url: string, body?: string): Promise<AgentReply> {
    const method = body === undefined ? 'GET' : 'POST';
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const call = request(url, {
        method,
        agent: this.#agent,
        headers: { ...this.#headers, ...length },
        timeout: this.#silenceMs,
      });
      call.once('timeout', () => call.destroy(new Error('the agent has said nothing for too long')));
      call.once('error', reject);
      call.once('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece)).once('error', reject);
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
        );
      });
      call.end(body);
    });
  }
}
