/** AuditService: decode, call the use case, encode. */
import type { AuditServiceServer } from '../../proto/gen/slipway/v1/audit_service.ts';
import type { Access } from '../access/access.ts';
import { listAuditEvents } from '../audit/list-audit-events.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AuditStore } from '../store/audit-store.ts';
import { ownAccount } from './own-account.ts';
import { unary } from './unary.ts';

/** Handlers of the service. */
export function auditHandlers(access: Access, audit: AuditStore, logger: Logger): AuditServiceServer {
  return {
    listAuditEvents: unary(logger, async (request, apiKey) => {
      const { caller } = await ownAccount(access, apiKey, false);
      const { events, nextPageToken } = await listAuditEvents(audit, caller, request);
      return {
        events: events.map(({ id, at, keyId, action, subjectId, fields }) => ({ id, time: at, keyId, action, subjectId, fields })),
        nextPageToken,
      };
    }),
  };
}
