/** Lists that no other surface has in JSON: keys, the audit trail, and for the operator accounts. Rows are flat, as a table shows them. */
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { KeyScope } from '../../../proto/gen/slipway/v1/access_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { isOperator } from '../console-parts.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { ListView } from '../views.ts';

const PAGE_SIZE = 200;

/** Adds the routes. Query: `page`, the `next` of the page before; of the audit trail also `subject`. */
export function listRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/keys', { onRequest }, async (request): Promise<ListView> => {
    const asked = { accountId: '', pageSize: PAGE_SIZE, pageToken: textOf(request, 'page'), ...(isOperator(request) ? { all: true } : {}) };
    const { keys, nextPageToken } = await core.keys.call((client) => client.listKeys, asked, optionsOf(request));
    const rows = keys.map(({ id, name, scope, endpointIds, createTime, revokeTime, machineId, accountId }) => ({
      id, name, may: Object.entries(KeyScope).find(([, value]) => value === scope)?.[0] ?? '', endpoints: endpointIds.join(', ') || 'all',
      created: iso(createTime), revoked: iso(revokeTime), belongsTo: machineId || accountId,
    }));
    return { rows, next: nextPageToken };
  });
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

function optionsOf(request: FastifyRequest) {
  return { apiKey: request.caller.apiKey, repeatable: true };
}

function textOf(request: FastifyRequest, name: string): string {
  const { [name]: text = '' } = request.query as Record<string, unknown>;
  if (typeof text !== 'string') throw new CoreError('INVALID_REQUEST', `"${name}" must be given once.`);
  return text;
}

function iso(time: Date | undefined): string {
  return time?.toISOString() ?? '';
}
