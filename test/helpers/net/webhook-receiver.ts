/** An HTTP server that receives webhook calls and gives scripted answers. */

import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { waitFor } from '../time/wait-for.ts';

/** One received call. */
export interface WebhookCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** When it came, in milliseconds since 1970. */
  atMs: number;
}

/**
 * Starts a receiver. A call to `/<status>/anything` is answered with that status, 3xx with a `location` of
 * `/200/redirected`.
 */
export async function webhookReceiver(t: Test) {
  const calls: WebhookCall[] = [];
  const answers = new Map<string, number>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const path = request.url ?? '';
      calls.push({
        method: request.method ?? '',
        path,
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
        atMs: Date.now(),
      });
      const status =
        answers.get(path.slice(path.lastIndexOf('/') + 1)) ?? Number(/^\/(\d{3})\//.exec(path)?.[1] ?? 200);
      response.writeHead(status, status >= 300 && status < 400 ? { location: '/200/redirected' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  return {
    port,
    /** Address whose calls are answered with `status`; `name` distinguishes calls. */
    url: (name: string, status = 200): string => `http://127.0.0.1:${port}/${status}/${name}`,
    /** Sets the `status` of answers to calls of this name from now on, whatever their address says. */
    answer: (name: string, status: number): void => {
      answers.set(name, status);
    },
    /** Calls whose path ends with this name. */
    calls: (name: string): WebhookCall[] => calls.filter((call) => call.path.endsWith(`/${name}`)),
    /** Waits for call number `count` of this name. */
    received: (name: string, count = 1): Promise<WebhookCall> =>
      waitFor(
        `webhook call ${count} to ${name}`,
        () => calls.filter((call) => call.path.endsWith(`/${name}`))[count - 1],
      ),
  };
}
