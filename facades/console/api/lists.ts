/** Lists as a table shows them, with flat rows: searched, ordered and paged by core. */
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { queryTime } from '../../jobs/query-time.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { ListView } from '../views.ts';
import { iso, optionsOf, pageAsked, textOf } from './list-query.ts';

type Read = (request: FastifyRequest) => Promise<ListView>;

/**
 * Adds the routes. Query: list-query.ts; of the audit trail also `subject`, `account`, `from` and `until`
 * (query-time.ts).
 */
export function listRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  const lists: Readonly<Record<string, Read>> = {
    endpoints: async (request) => {
      const { endpoints, nextPageToken } = await core.endpoints.call(
        (client) => client.listEndpoints,
        pageAsked(request),
        optionsOf(request),
      );
      return { rows: endpoints.map(({ id, name }) => ({ id, name })), next: nextPageToken };
    },
    templates: async (request) => {
      const asked = { ...pageAsked(request), includePublic: false };
      const { templates, nextPageToken } = await core.templates.call(
        (client) => client.listTemplates,
        asked,
        optionsOf(request),
      );
      const rows = templates.map(
        ({ id, name, imageName, serverless, public: isPublic, containerDiskGb, volumeGb }) => ({
          id,
          name,
          imageName,
          isServerless: serverless ? 'yes' : 'no',
          isPublic: isPublic ? 'yes' : 'no',
          containerDiskInGb: containerDiskGb,
          volumeInGb: volumeGb,
        }),
      );
      return { rows, next: nextPageToken };
    },
    volumes: async (request) => {
      const { networkVolumes, nextPageToken } = await core.volumes.call(
        (client) => client.listNetworkVolumes,
        pageAsked(request),
        optionsOf(request),
      );
      const rows = networkVolumes.map(({ id, name, sizeGb, dataCenterId, createTime }) => ({
        id,
        name,
        size: sizeGb,
        dataCenterId,
        created: iso(createTime),
      }));
      return { rows, next: nextPageToken };
    },
    registries: async (request) => {
      const { registryAuths, nextPageToken } = await core.registryAuths.call(
        (client) => client.listRegistryAuths,
        pageAsked(request),
        optionsOf(request),
      );
      return {
        rows: registryAuths.map(({ id, name, createTime }) => ({ id, name, created: iso(createTime) })),
        next: nextPageToken,
      };
    },
    audit: async (request) => {
      const [sinceTime, untilTime] = ['from', 'until'].map((name) => queryTime(request.query, name, clock.nowMs()));
      const account = textOf(request, 'account');
      const asked = {
        ...pageAsked(request),
        subjectId: textOf(request, 'subject'),
        ...(account === '' ? {} : { accountId: account }),
        ...(sinceTime ? { sinceTime } : {}),
        ...(untilTime ? { untilTime } : {}),
      };
      const { events, nextPageToken } = await core.audit.call(
        (client) => client.listAuditEvents,
        asked,
        optionsOf(request),
      );
      const rows = events.map(({ time, action, subjectId, keyId, fields, accountId }) => ({
        time: iso(time),
        action,
        subject: subjectId,
        key: keyId,
        fields: fields.join(', '),
        account: accountId,
      }));
      return { rows, next: nextPageToken };
    },
    accounts: async (request) => {
      const { accounts, nextPageToken } = await core.access.call(
        (client) => client.listAccounts,
        pageAsked(request),
        optionsOf(request),
      );
      const rows = accounts.map(({ id, name, createTime, quota = {} }) => ({
        id,
        name,
        created: iso(createTime),
        workers: quota.workers ?? '',
        gpus: quota.gpus ?? '',
        queuedJobs: quota.queuedJobs ?? '',
        requests: quota.requests ?? '',
        gpuWeight: quota.gpuWeight ?? '',
      }));
      return { rows, next: nextPageToken };
    },
  };
  for (const [name, read] of Object.entries(lists)) app.get(`/console/api/${name}`, { onRequest }, read);
}
