/** How the page asks its server: the session is in the cookie, every request says that it is the page's own. */

/** What the server refused, in its words. */
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

const HEADERS: Readonly<Record<string, string>> = { 'x-slipway-console': '1' };
const JSON_HEADERS = { ...HEADERS, 'content-type': 'application/json' };

/** Asks and answers the JSON of the answer. Throws ApiError; status 0: the service was not reached. */
export async function ask<Answer>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
  const response = await send(method, path, body === undefined ? undefined : JSON.stringify(body), signal);
  const text = await response.text();
  return (text === '' ? {} : JSON.parse(text)) as Answer;
}

/** Asks and answers the bytes of the answer as they came. Throws ApiError. */
export async function askBlob(path: string, signal?: AbortSignal): Promise<Blob> {
  return (await send('GET', path, undefined, signal)).blob();
}

/** Sends JSON text as it was written. */
export async function sendText<Answer>(path: string, json: string): Promise<Answer> {
  return await (await send('POST', path, json)).json() as Answer;
}

async function send(method: string, path: string, body: string | undefined, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, headers: body === undefined ? HEADERS : JSON_HEADERS, credentials: 'same-origin' };
  if (body !== undefined) init.body = body;
  if (signal) init.signal = signal;
  const response = await fetch(`/console${path}`, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The service is not reached. Is this machine connected?');
  });
  if (response.ok) return response;
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  const told = await response.json().catch(() => ({})) as { error?: unknown; code?: unknown };
  const text = typeof told.error === 'string' ? told.error : `The service answered ${response.status}.`;
  return new ApiError(response.status, typeof told.code === 'string' ? told.code : '', text);
}
