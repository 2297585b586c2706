/** A receiver of webhooks, and deliverers on the job engines of a test. */

import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PrivateWebhooks } from '@slipway/core/domain/jobs/webhook-url';
import { WebhookDeliverer } from '@slipway/core/singleton-tasks/webhook-deliverer';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import { logger, type startEngines } from '../../helpers/system/job-engine.ts';

/** Starts a receiver that answers with these codes in order, and with the last one from then on. */
export async function receiver(t: Test, ...codes: number[]) {
  const received: { headers: IncomingHttpHeaders; body: string; method: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString(), method: request.method });
      response
        .writeHead(codes[Math.min(received.length, codes.length) - 1] ?? 200, { location: '/elsewhere' })
        .end('thanks');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?x=1`, received };
}

/** A delivery that is due or will be. */
export interface WaitingDelivery {
  tries: number;
  dueMs: number;
  last_error: string;
}

/** Deliverers on those engines, and what waits for them. */
export function webhookDeliveries({ stores, sql, sealer }: Awaited<ReturnType<typeof startEngines>>) {
  /** Returns a separate deliverer, like that of another replica or of the same one after a restart. */
  function deliverer(t: Test, allowPrivate: PrivateWebhooks = true): WebhookDeliverer {
    const made = new WebhookDeliverer({
      stores,
      sealer,
      allowPrivate,
      clock: systemClock,
      random: systemRandom,
      logger,
    });
    t.teardown(() => made.stop());
    return made;
  }

  const makeDue = (): Promise<unknown> => sql`UPDATE webhook_delivery SET due_at = now()`;
  const waiting = async (): Promise<WaitingDelivery[]> => [
    ...(await sql<WaitingDelivery[]>`
    SELECT tries, last_error, (extract(epoch FROM due_at - now()) * 1000)::float8 AS "dueMs" FROM webhook_delivery`),
  ];

  return { deliverer, makeDue, waiting };
}
