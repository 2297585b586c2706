/**
 * Sends the page's requests to its server. The session is in the cookie; a header marks each request as the page's own.
 */

/** An error response of the server, with its text. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, text: string) {
    super(text);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/** Returns whether the service or a part of it was unreachable, so that a retry may succeed. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && [0, 502, 503, 504].includes(error.status);
}

const HEADERS: Readonly<Record<string, string>> = { 'x-console-page': '1' };
const JSON_HEADERS = { ...HEADERS, 'content-type': 'application/json' };

/** Sends a request and returns the JSON of the response. Throws ApiError; status 0 if the service was not reached. */
export async function ask<Answer>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(method, path, body === undefined ? undefined : JSON.stringify(body), signal);
  const text = await response.text();
  return (text === '' ? {} : JSON.parse(text)) as Answer;
}

/** Sends a GET and returns the bytes of the response unchanged. Throws ApiError. */
export async function askBlob(path: string, signal?: AbortSignal): Promise<Blob> {
  return (await send('GET', path, undefined, signal)).blob();
}

/** Sends JSON text unchanged. */
export async function sendText<Answer>(path: string, json: string): Promise<Answer> {
  return (await (await send('POST', path, json)).json()) as Answer;
}

/**
 * Sends a request to a load-balancing endpoint. `head`: its method, path and headers. Returns the response, which wraps
 * the endpoint's response in its body.
 */
export async function askAnswer(
  path: string,
  head: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const response = await send('POST', path, body, signal, { ...HEADERS, 'x-console-request': head });
  if (response.headers.has('x-console-answer')) return response;
  throw new ApiError(
    response.status,
    '',
    'The service answered in a format that this page does not know. Reload the page.',
  );
}

/**
 * Returns the reason why the feed at `path` is rejected, which browsers do not report for feeds. `undefined` if it is
 * not rejected.
 */
export async function rejectionOf(path: string, signal: AbortSignal): Promise<ApiError | undefined> {
  try {
    // Like an EventSource: a plain read of a job's stream would take chunks from the client that reads it.
    const headers = { ...HEADERS, accept: 'text/event-stream' };
    await (await send('GET', path, undefined, signal, headers)).body?.cancel();
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : undefined;
  }
}

async function send(
  method: string,
  path: string,
  body: string | undefined,
  signal?: AbortSignal,
  headers = body === undefined ? HEADERS : JSON_HEADERS,
): Promise<Response> {
  const init: RequestInit = { method, headers, credentials: 'same-origin' };
  if (body !== undefined) init.body = body;
  if (signal) init.signal = signal;
  const response = await fetch(`/console${path}`, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The service cannot be reached. Is this machine connected?');
  });
  if (response.ok) return response;
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: unknown; detail?: unknown; code?: unknown };
  // REST v2 has its text in `detail`.
  const reported = body.error ?? body.detail;
  const text = typeof reported === 'string' ? reported : `The service answered ${response.status}.`;
  return new ApiError(response.status, typeof body.code === 'string' ? body.code : '', text);
}
