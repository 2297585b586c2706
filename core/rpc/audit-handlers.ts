/** AuditService: decode, call the use case, encode. */
import type { AuditServiceServer } from '../../proto/gen/slipway/v1/audit_service.ts';
import type { Access } from '../access/access.ts';
import { invalid } from '../domain/fields.ts';
import { listAuditEvents } from '../reports/list-audit-events.ts';
import type { Logger } from '../runtime/logger.ts';
import { noFilter } from '../store/list-filter.ts';
import type { Stores } from '../store/storage.ts';
import { namedAccount } from './own-account.ts';
import { filtersOf, searchOf } from './paging.ts';
import { unary } from './unary.ts';

/** Handlers of the service. */
export function auditHandlers(access: Access, audit: Stores['audit'], logger: Logger): AuditServiceServer {
  return {
    listAuditEvents: unary(logger, async (request, apiKey) => {
      const { caller, accountId } = await namedAccount(access, apiKey, request.accountId);
      const { view } = request;
      if (view && view.orderBy !== '' && view.orderBy !== 'time')
        throw invalid('order_by of the audit trail must be `time` or empty');
      const { action, ...others } = filtersOf(view);
      for (const name of Object.keys(others)) throw noFilter(name, ['action']);
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
