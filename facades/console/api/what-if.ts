/** Replays past traffic of an endpoint with other settings, for the settings editor. */

import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { WhatIfFigures } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import { restChanges } from '../../resources/rest-values.ts';
import { checkedSettings } from '../checked-settings.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { WhatIfFiguresView, WhatIfView } from '../views.ts';

const HOURS = 12;
/** Timeout of a comparison, in milliseconds. Core needs a while to compare hours of traffic. */
const TRY_MS = 30_000;

/** Adds the route. */
export function whatIfRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.post('/console/api/endpoints/:id/what-if', { onRequest }, async (request): Promise<WhatIfView> => {
    const id = endpointIdInPath(request);
    const { changes, mask } = restChanges<Endpoint>(ENDPOINT, checkedSettings(ENDPOINT, settingsOf(request)));
    const asked = { endpoint: Endpoint.fromPartial({ ...changes, id }), updateMask: mask, hours: HOURS };
    const answer = await core.endpoints.call((client) => client.whatIf, asked, {
      apiKey: request.caller.apiKey,
      repeatable: true,
      tryMs: TRY_MS,
    });
    const { total, replayedDecisions: replayed, changedDecisions: changed, notes } = answer;
    return {
      replayed,
      changed,
      notes,
      ...(total
        ? {
            total: {
              jobs: total.jobs,
              measured: figures(total.measured),
              asItWas: figures(total.asItWas),
              wouldBe: figures(total.wouldBe),
            },
          }
        : {}),
    };
  });
}

function figures(found: WhatIfFigures | undefined): WhatIfFiguresView {
  const { workers = 0, workerSeconds = 0, gpuSeconds = 0, p95WaitMs = 0 } = found ?? {};
  return { workers, workerSeconds, gpuSeconds, p95WaitMs };
}
