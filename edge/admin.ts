/** Client of Envoy's admin interface, over its Unix socket. */
import { request } from '@slipway/kit/net/node-http';

const ANSWER_MS = 5_000;

/** Sends a request. Returns the status and the text; status 0 if there is no answer. */
export function askAdmin(socketPath: string, path: string, method = 'GET'): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const none = (): void => resolve({ status: 0, text: '' });
    const asking = request({ socketPath, path, method, timeout: ANSWER_MS }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text })).once('error', none);
    });
    asking
      .once('error', none)
      .once('timeout', () => asking.destroy())
      .end();
  });
}

/** Returns the addresses of the listeners by name, as host:port. */
export async function listenerAddresses(socketPath: string): Promise<Record<string, string>> {
  const { text } = await askAdmin(socketPath, '/listeners?format=json');
  const { listener_statuses: statuses } = JSON.parse(text) as {
    listener_statuses: { name: string; local_address: { socket_address: { address: string; port_value: number } } }[];
  };
  return Object.fromEntries(
    statuses.map(
      ({
        name,
        local_address: {
          socket_address: { address, port_value: port },
        },
      }) => [name, address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`],
    ),
  );
}

/** Returns the number of requests in progress on the listeners for clients. */
export async function activeRequests(socketPath: string): Promise<number> {
  const { text } = await askAdmin(socketPath, '/stats?filter=downstream_rq_active');
  const counts = [...text.matchAll(/^http\.(?!metrics|admin)\w+\.downstream_rq_active: (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
