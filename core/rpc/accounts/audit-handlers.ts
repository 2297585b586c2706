/** AuditService: decode, call the use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { AuditServiceServer } from '@slipway/proto/gen/slipway/v1/audit_service';
import type { Access } from '../../access/access.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { listAuditEvents } from '../../reports/list-audit-events.ts';
import { unknownFilter } from '../../store/sql/list-filter.ts';
import type { Stores } from '../../store/storage.ts';
import { namedAccount } from '../server/own-account.ts';
import { filtersOf, searchOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

/** Handlers of the service. */
export function auditHandlers(access: Access, audit: Stores['audit'], logger: Logger): AuditServiceServer {
  return {
    listAuditEvents: unary(logger, async (request, apiKey) => {
      const { caller, accountId } = await namedAccount(access, apiKey, request.accountId);
      const { view } = request;
      if (view && view.orderBy !== '' && view.orderBy !== 'time')
        throw invalid('order_by of the audit trail must be `time` or empty');
      const { action, ...others } = filtersOf(view);
      for (const name of Object.keys(others)) throw unknownFilter(name, ['action']);
      const { pageSize, pageToken, subjectId, sinceTime: since, untilTime: until } = request;
      const oldestFirst = view?.orderBy === 'time' && !view.descending;
      const asked = { pageSize, pageToken, subjectId, search: searchOf(view), action, since, until, oldestFirst };
      const { events, nextPageToken } = await listAuditEvents(audit, caller, accountId, asked);
      return {
        events: events.map(({ at, accountId: of, ...event }) => ({ ...event, accountId: of ?? '', time: at })),
        nextPageToken,
      };
    }),
  };
}
