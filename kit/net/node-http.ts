/**
 * Node's HTTP. An ES import of `node:http` reads each of its names, WebSocket's among them, for which Node loads all of
 * its fetch: 40 ms of processor at the start of every process. Types are imported from there as usual.
 */
export const { Agent, STATUS_CODES, ServerResponse, createServer, request } = process.getBuiltinModule('node:http');

/** GET of a short text. Rejects when nobody answers, or when `signal` ends it. */
export function getText(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { headers, signal }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text })).once('error', reject);
    });
    asking.once('error', reject).end();
  });
}
