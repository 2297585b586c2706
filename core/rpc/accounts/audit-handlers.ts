/** AuditService: decode, call the use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { AuditEvent as AuditMessage, AuditServiceServer } from '@slipway/proto/gen/slipway/v1/audit_service';
import type { Access } from '../../access/access.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { listAuditEvents } from '../../reports/list-audit-events.ts';
import type { AuditEvent } from '../../store/accounts/audit-store.ts';
import { checkWord, unknownFilter } from '../../store/sql/list-filter.ts';
import type { Stores } from '../../store/storage.ts';
import { valuesToMessage } from '../resources/release-values-message.ts';
import { namedAccount } from '../server/own-account.ts';
import { filtersOf, searchOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

const YES_NO = ['yes', 'no'];

/** Returns the handlers of the service. */
export function auditHandlers(access: Access, audit: Stores['audit'], logger: Logger): AuditServiceServer {
  return {
    listAuditEvents: unary(logger, async (request, apiKey) => {
      const { caller, accountId } = await namedAccount(access, apiKey, request.accountId);
      const { view } = request;
      if (view && view.orderBy !== '' && view.orderBy !== 'time')
        throw invalid('order_by of the audit trail must be `time` or empty');
      const { action, address, refused: isRefused, ...others } = filtersOf(view);
      for (const name of Object.keys(others)) throw unknownFilter(name, ['action', 'address', 'refused']);
      if (isRefused !== undefined) checkWord('refused', isRefused, YES_NO);
      const refused = isRefused === undefined ? undefined : isRefused === 'yes';
      const { pageSize, pageToken, subjectId, sinceTime: since, untilTime: until } = request;
      const oldestFirst = view?.orderBy === 'time' && !view.descending;
      const search = searchOf(view);
      const asked = { pageSize, pageToken, subjectId, search, action, address, refused, since, until, oldestFirst };
      const { events, nextPageToken } = await listAuditEvents(audit, caller, accountId, asked);
      return {
        events: events.map(eventToMessage),
        nextPageToken,
      };
    }),
  };
}

function eventToMessage({ at, accountId, values, ...event }: AuditEvent): AuditMessage {
  return { ...event, accountId: accountId ?? '', values: valuesToMessage(values), time: at };
}
