/** Requests to the public API with a key. */

/** An answer of the public API. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: PublicJson;
}

/** Any member of a public answer. A test that reads a member asserts that it is there. */
export interface PublicJson {
  [name: string]: unknown;
  id: string;
  status: string;
  output: unknown;
  error: string;
  code: string;
  delayTime: number;
  executionTime: number;
  retries: number;
  workerId: string;
  removed: number;
}

/** Calls the public API. `body` objects are sent as JSON, texts and buffers as they are. */
export type PublicRequest = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** Requests to one address with one key. */
export function publicRequest(url: string, key: string): PublicRequest {
  return async (method, path, body, headers = {}) => {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as string }),
    });
    const text = await response.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text, json: json as PublicJson };
  };
}
