/** PartService: decode, call the use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { PartServiceServer } from '@slipway/proto/gen/slipway/v1/part_service';
import { PartSupport, RollbackSupport } from '@slipway/proto/gen/slipway/v1/part_service';
import type { Access } from '../../access/access.ts';
import { CORE_VERSION } from '../../reports/core-version.ts';
import { listCoreReleases, listParts } from '../../reports/list-parts.ts';
import type { SeenParts } from '../../reports/seen-parts.ts';
import type { Stores } from '../../store/storage.ts';
import { unary } from '../server/unary.ts';

/** Most parts of a response. */
const PARTS_MAX = 200;

interface PartHandlersOptions {
  access: Access;
  machines: Stores['machineViews'];
  releases: Stores['coreReleases'];
  seen: SeenParts;
  clock: Clock;
  logger: Logger;
}

/** Returns the handlers of the service. */
export function partHandlers(options: PartHandlersOptions): PartServiceServer {
  const { access, machines, releases, seen, clock, logger } = options;
  return {
    listParts: unary(logger, async (_request, apiKey) => {
      const context = { machines, seen, coreVersion: CORE_VERSION, nowMs: clock.nowMs() };
      const caller = await access.caller(apiKey);
      const parts = await listParts(caller, context);
      const coreReleases = await listCoreReleases(caller, releases);
      return {
        coreVersion: CORE_VERSION,
        parts: parts.slice(0, PARTS_MAX).map(({ support, lastSeenAtMs, ...part }) => ({
          ...part,
          support: PartSupport[support],
          lastSeenTime: new Date(lastSeenAtMs),
        })),
        schema: coreReleases[0]?.schemaName ?? '',
        coreReleases: coreReleases.map(({ version, schemaName, rollback, reason, ...times }) => ({
          version,
          schema: schemaName,
          firstStartedTime: new Date(times.firstStartedAtMs),
          lastStartedTime: new Date(times.lastStartedAtMs),
          rollback: RollbackSupport[rollback],
          reason,
        })),
      };
    }),
  };
}
