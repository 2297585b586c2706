/** One line per request at level debug. At any other level no hook is added, so that the hot path pays nothing. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import { pathOf } from './errors/error-handler.ts';
import { idsOf } from './request-id.ts';

/** Adds the log to an app. Queries are left out: they may hold a key. */
export function logRequests(app: FastifyInstance, clock: Clock, logger: Logger): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = clock.monotonicMs();
    reply.raw.once('close', () => {
      const tookMs = Math.round((clock.monotonicMs() - startedMs) * 10) / 10;
      logger.debug(
        { ...idsOf(request), method: request.method, path: pathOf(request), httpStatus: reply.raw.statusCode, tookMs },
        'request',
      );
    });
    done();
  });
}
