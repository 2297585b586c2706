/** Handles EndpointService.GetLoadHistory: load of an endpoint over time. */
import type { EndpointServiceServer } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Access } from '../../access/access.ts';
import { stepsOf } from '../../domain/jobs/job-times.ts';
import { loadHistory } from '../../domain/scaling/load-history.ts';
import type { Stores } from '../../store/storage.ts';
import type { ListParts } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

const NO_LOAD = { queued: 0, running: 0, workers: 0 };

/** Returns the handler. */
export function loadHistoryHandler(
  access: Access,
  { loads }: Pick<Stores, 'loads'>,
  { logger }: Pick<ListParts, 'logger'>,
): Pick<EndpointServiceServer, 'getLoadHistory'> {
  return {
    getLoadHistory: unary(logger, async ({ endpointId, spanMs: asked }, apiKey) => {
      await access.check(apiKey, { api: 'JOBS', endpointId, write: false });
      const { spanMs } = stepsOf(asked);
      const record = await loads.record(endpointId, spanMs);
      return {
        samples: loadHistory(record, record.nowMs - spanMs).map(({ atMs, load }) => ({
          time: new Date(atMs),
          unknown: load === undefined,
          ...(load ?? NO_LOAD),
        })),
      };
    }),
  };
}
