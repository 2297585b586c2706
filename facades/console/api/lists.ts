/** Lists for the tables of the console, with flat rows. Core searches, sorts and pages them. */
import type { AuditEvent } from '@slipway/proto/gen/slipway/v1/audit_service';
import type { SecretUser } from '@slipway/proto/gen/slipway/v1/secret_service';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { queryTime } from '../../jobs/query-time.ts';
import { addAccountNames } from '../account-names.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { isOperator } from '../console-parts.ts';
import type { ListView } from '../views.ts';
import { iso, optionsOf, pageAsked, textOf } from './list-query.ts';

/** Reads a page of one list from core. */
type ReadPage = (parts: ConsoleParts, request: FastifyRequest) => Promise<ListView>;

const endpoints: ReadPage = async ({ core }, request) => {
  const page = await core.endpoints.call((client) => client.listEndpoints, pageAsked(request), optionsOf(request));
  return { rows: page.endpoints.map(({ id, name }) => ({ id, name })), next: page.nextPageToken };
};

const templates: ReadPage = async ({ core }, request) => {
  const asked = { ...pageAsked(request), includePublic: false };
  const page = await core.templates.call((client) => client.listTemplates, asked, optionsOf(request));
  const rows = page.templates.map(
    ({ id, name, imageName, startCommand, serverless, public: isPublic, containerDiskGb, volumeGb }) => ({
      id,
      name,
      imageName: imageName || startCommand.join(' '),
      isServerless: serverless ? 'yes' : 'no',
      isPublic: isPublic ? 'yes' : 'no',
      containerDiskInGb: containerDiskGb,
      volumeInGb: volumeGb,
    }),
  );
  return { rows, next: page.nextPageToken };
};

const volumes: ReadPage = async ({ core }, request) => {
  const page = await core.volumes.call((client) => client.listNetworkVolumes, pageAsked(request), optionsOf(request));
  const rows = page.networkVolumes.map(({ id, name, sizeGb, dataCenterId, createTime }) => ({
    id,
    name,
    size: sizeGb,
    dataCenterId,
    created: iso(createTime),
  }));
  return { rows, next: page.nextPageToken };
};

const registries: ReadPage = async ({ core }, request) => {
  const page = await core.registryAuths.call(
    (client) => client.listRegistryAuths,
    pageAsked(request),
    optionsOf(request),
  );
  const rows = page.registryAuths.map(({ id, name, createTime }) => ({ id, name, created: iso(createTime) }));
  return { rows, next: page.nextPageToken };
};

const secrets: ReadPage = async ({ core }, request) => {
  const page = await core.secrets.call((client) => client.listSecrets, pageAsked(request), optionsOf(request));
  const rows = page.secrets.map(({ id, name, description, createTime, valueSetTime, users, userCount }) => ({
    id,
    name,
    description,
    usedBy: usersText(users, userCount),
    valueSet: iso(valueSetTime),
    created: iso(createTime),
  }));
  return { rows, next: page.nextPageToken };
};

/** Returns what mentions a secret, in words. Empty if nothing does. */
function usersText(users: readonly SecretUser[], count: number): string {
  const named = users.map(({ kind, id, name }) => `${kind.toLowerCase()} ${name || id}`).join(', ');
  return count > users.length ? `${named} and ${count - users.length} more` : named;
}

const audit: ReadPage = async ({ core, clock }, request) => {
  const [sinceTime, untilTime] = ['from', 'until'].map((name) => queryTime(request.query, name, clock.nowMs()));
  const account = textOf(request, 'account');
  const asked = {
    ...pageAsked(request),
    subjectId: textOf(request, 'subject'),
    ...(account === '' ? {} : { accountId: account }),
    ...(sinceTime ? { sinceTime } : {}),
    ...(untilTime ? { untilTime } : {}),
  };
  const page = await core.audit.call((client) => client.listAuditEvents, asked, optionsOf(request));
  const accounts = new Map<string, string>();
  const ids = isOperator(request) ? page.events.map(({ accountId }) => accountId) : [];
  await addAccountNames(core, accounts, ids, optionsOf(request));
  const rows = page.events.map((event) => ({
    time: iso(event.time),
    action: event.action,
    subject: named(event.subjectId, event.subjectName),
    changes: changesText(event),
    key: named(event.keyId, event.keyName),
    address: event.address,
    account: named(event.accountId, accounts.get(event.accountId) ?? ''),
  }));
  return { rows, next: page.nextPageToken };
};

/** Returns a name with the id beside it. */
function named(id: string, name: string): string {
  return name === '' || name === id ? id : `${name} (${id})`;
}

/** Returns what was changed, from what to what, or why nothing was. */
function changesText({ fields, values, refused, detail, attempts }: AuditEvent): string {
  if (refused !== '') return `refused${attempts > 1 ? ` ${attempts} times` : ''}: ${detail || refused}`;
  const known = new Map(values.map(({ field, oldJson, newJson }) => [field, [oldJson, newJson]] as const));
  return [...new Set([...fields, ...known.keys()])]
    .map((field) => {
      if (!known.has(field)) return field;
      const [old, fresh = '–'] = known.get(field)!;
      return old === undefined ? `${field}: ${fresh}` : `${field}: ${old} → ${fresh}`;
    })
    .join(', ');
}

/** Most alerts of a page in core. */
const ALERTS_MAX = 200;

const alerts: ReadPage = async ({ core }, request) => {
  const { pageSize, pageToken } = pageAsked(request);
  const asked = { limit: Math.min(pageSize, ALERTS_MAX), pageToken };
  const page = await core.alerts.call((client) => client.listAlerts, asked, optionsOf(request));
  const rows = page.alerts.map(({ id, problem, beginTime, endTime }) => ({
    id,
    began: iso(beginTime),
    ended: endTime ? iso(endTime) : 'lasts',
    about: problem ? `${problem.about.toLowerCase()} ${problem.name || problem.id}` : '',
    kind: problem?.kind.toLowerCase().replaceAll('_', ' ') ?? '',
    problem: problem?.text ?? '',
  }));
  return { rows, next: page.nextPageToken };
};

const accounts: ReadPage = async ({ core }, request) => {
  const page = await core.access.call((client) => client.listAccounts, pageAsked(request), optionsOf(request));
  const rows = page.accounts.map(({ id, name, createTime, quota = {} }) => ({
    id,
    name,
    created: iso(createTime),
    workers: quota.workers ?? '',
    gpus: quota.gpus ?? '',
    queuedJobs: quota.queuedJobs ?? '',
    requests: quota.requests ?? '',
    gpuWeight: quota.gpuWeight ?? '',
  }));
  return { rows, next: page.nextPageToken };
};

/** Lists by the last part of their path. */
const LISTS = { endpoints, templates, volumes, registries, secrets, audit, alerts, accounts };

/**
 * Adds the routes. list-query.ts parses the query; the audit trail also takes `subject`, `account`, `from` and
 * `until` (query-time.ts).
 */
export function listRoutes(app: FastifyInstance, parts: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  for (const [name, read] of Object.entries(LISTS))
    app.get(`/console/api/${name}`, { onRequest }, (request) => read(parts, request));
}
