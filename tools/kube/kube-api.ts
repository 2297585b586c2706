/** Calls of the API of Kubernetes as plain JSON: what starts a cluster needs no client library. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';

/** An answer that is no success. `reason`: the API's own word, `AlreadyExists` for instance. */
export class KubeApiError extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** An object of the API. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; namespace?: string; [field: string]: unknown };
  [field: string]: unknown;
}

const CONTENT_TYPES: Record<string, string> = {
  PATCH: 'application/merge-patch+json',
};

export class KubeApi {
  readonly url: string;
  readonly #token: string;
  readonly #dispatcher: Agent;

  /** `caFile`: the authority of the server's certificate, in PEM. */
  constructor(url: string, token: string, caFile: string) {
    this.url = url;
    this.#token = token;
    this.#dispatcher = new Agent({ connect: { ca: readFileSync(caFile, 'utf8') } });
  }

  /** Sends a request and returns the JSON of the answer. Throws KubeApiError if it is no success. */
  async send<Answer = KubeObject>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown) {
    const text = await this.#text(method, path, body);
    return JSON.parse(text) as Answer;
  }

  /** Returns the text of a GET, of /readyz or of logs for instance. */
  read(path: string): Promise<string> {
    return this.#text('GET', path);
  }

  async #text(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<string> {
    const answer = await request(`${this.url}${path}`, {
      method,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': CONTENT_TYPES[method] ?? 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 200 && answer.statusCode < 300) return text;
    const { reason, message } = parseStatus(text);
    throw new KubeApiError(answer.statusCode, reason, `${method} ${path}: ${answer.statusCode} ${message}`);
  }

  /** Closes its connections. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

function parseStatus(text: string): { reason: string; message: string } {
  try {
    const { reason = '', message = text } = JSON.parse(text) as { reason?: string; message?: string };
    return { reason, message };
  } catch {
    return { reason: '', message: text };
  }
}
