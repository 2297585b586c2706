/**
 * Node's HTTP without an ES import of `node:http`, which reads all of its names and makes Node load fetch for
 * WebSocket: 40 ms of CPU at each start. Types are imported from `node:http` as usual.
 */
export const { Agent, IncomingMessage, STATUS_CODES, ServerResponse, createServer, request } =
  process.getBuiltinModule('node:http');

/** Sends a GET and returns status and body, which must be short. Rejects if the connection fails or `signal` aborts. */
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
    // Node closes the connection after an answer that would switch protocols, and emits neither answer nor error.
    asking.once('close', () => reject(new Error('the connection was closed without an answer')));
    asking.once('error', reject).end();
  });
}
