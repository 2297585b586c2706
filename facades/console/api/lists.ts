/** Lists that no other surface has in JSON: keys, the audit trail, and for the operator accounts. Rows are flat, as a table shows them. */
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { CoreError } from '../../../proto/wire/reason.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { ListView } from '../views.ts';

/** Rows of a page. */
export const PAGE_SIZE = 200;

/** Adds the routes. Query: `page`, the `next` of the page before; of the audit trail also `subject`. */
export function listRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/audit', { onRequest }, async (request): Promise<ListView> => {
    const asked = { pageSize: PAGE_SIZE, pageToken: textOf(request, 'page'), subjectId: textOf(request, 'subject') };
    const { events, nextPageToken } = await core.audit.call((client) => client.listAuditEvents, asked, optionsOf(request));
    const rows = events.map(({ time, action, subjectId, keyId, fields, accountId }) => ({
      time: iso(time), action, subject: subjectId, key: keyId, fields: fields.join(', '), account: accountId,
    }));
    return { rows, next: nextPageToken };
  });
  app.get('/console/api/accounts', { onRequest }, async (request): Promise<ListView> => {
    const { accounts } = await core.access.call((client) => client.listAccounts, {}, optionsOf(request));
    const rows = accounts.map(({ id, name, createTime, quota = {} }) => ({
      id, name, created: iso(createTime), workers: quota.workers ?? '', gpus: quota.gpus ?? '', queuedJobs: quota.queuedJobs ?? '',
      requests: quota.requests ?? '', gpuWeight: quota.gpuWeight ?? '',
    }));
    return { rows, next: '' };
  });
}

/** How core is asked for a list. */
export function optionsOf(request: FastifyRequest) {
  return { apiKey: request.caller.apiKey, repeatable: true };
}

/** A member of the query; empty: it is not there. */
export function textOf(request: FastifyRequest, name: string): string {
  const { [name]: text = '' } = request.query as Record<string, unknown>;
  if (typeof text !== 'string') throw new CoreError('INVALID_REQUEST', `"${name}" must be given once.`);
  return text;
}

/** For a row. */
export function iso(time: Date | undefined): string {
  return time?.toISOString() ?? '';
}
