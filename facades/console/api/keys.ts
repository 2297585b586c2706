/** Keys: lists them, creates one, whose secret is sent once, and revokes one. */

import type { Key, KeyPermissions } from '@slipway/proto/gen/slipway/v1/access_service';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { ConsoleParts } from '../console-parts.ts';
import { isOperator } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { ListView, NewKeyView } from '../views.ts';
import { iso, optionsOf, pageAsked } from './list-query.ts';

const SCOPES: Readonly<Record<string, KeyScope>> = {
  ALL: KeyScope.ALL,
  READ_ONLY: KeyScope.READ_ONLY,
  RESTRICTED: KeyScope.RESTRICTED,
  AGENT: KeyScope.AGENT,
};
const PERMISSIONS: Readonly<Record<string, Permission>> = {
  NONE: Permission.UNSPECIFIED,
  READ: Permission.READ,
  READ_WRITE: Permission.READ_WRITE,
};

/** Most endpoints of a page of keys that are shown by name: each costs a call. */
const NAMES_MAX = 20;

/** Adds the routes. */
export function keyRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/keys', { onRequest }, async (request): Promise<ListView> => {
    const asked = { accountId: '', ...pageAsked(request), ...(isOperator(request) ? { all: true } : {}) };
    const { keys, nextPageToken } = await core.keys.call((client) => client.listKeys, asked, optionsOf(request));
    const names = await endpointNames({ core }, request, keys);
    const rows = keys.map(
      ({ id: keyId, name, scope, permissions, endpointIds, createTime, revokeTime, machineId, accountId }) => ({
        id: keyId,
        name,
        may: mayOf(scope, permissions),
        endpoints: scope === KeyScope.AGENT ? '' : endpointIds.map((id) => names.get(id) ?? id).join(', ') || 'all',
        created: iso(createTime),
        revoked: iso(revokeTime),
        belongsTo: machineId || accountId,
      }),
    );
    return { rows, next: nextPageToken };
  });
  app.post('/console/api/keys', { onRequest }, async (request): Promise<NewKeyView> => {
    const body = settingsOf(request);
    const scope = wordIn(SCOPES, body, 'scope', KeyScope.ALL);
    const permissions =
      scope !== KeyScope.RESTRICTED
        ? undefined
        : {
            management: wordIn(PERMISSIONS, body, 'management', Permission.UNSPECIFIED),
            jobs: wordIn(PERMISSIONS, body, 'jobs', Permission.UNSPECIFIED),
          };
    const asked = {
      name: textIn(body, 'name'),
      scope,
      endpointIds: textsIn(body, 'endpointIds'),
      accountId: textIn(body, 'accountId'),
      permissions,
    };
    const options = { apiKey: request.caller.apiKey, repeatable: false };
    const { key, secret } = await core.keys.call((client) => client.createKey, asked, options);
    return { id: key?.id ?? '', secret };
  });
  app.post('/console/api/keys/:id/revoke', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    await core.keys.call((client) => client.revokeKey, { id }, { apiKey: request.caller.apiKey, repeatable: true });
    return {};
  });
}

/** Returns names of endpoints that keys are limited to, by id. An endpoint may have been deleted since. */
async function endpointNames(
  { core }: Pick<ConsoleParts, 'core'>,
  request: FastifyRequest,
  keys: readonly Key[],
): Promise<Map<string, string>> {
  // The operator's key reads no endpoints.
  const ids = isOperator(request) ? [] : [...new Set(keys.flatMap(({ endpointIds }) => endpointIds))];
  const named = ids.slice(0, NAMES_MAX).map(async (id): Promise<[string, string]> => {
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id }, optionsOf(request));
    return [id, endpoint?.name ?? id];
  });
  return new Map((await Promise.allSettled(named)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
}

/** Returns the permissions of a key in words. */
function mayOf(scope: KeyScope, permissions: KeyPermissions | undefined): string {
  const word = (permission: Permission | undefined): string => {
    if (permission === Permission.READ_WRITE) return 'read and change';
    return permission === Permission.READ ? 'read' : 'nothing';
  };
  switch (scope) {
    case KeyScope.ALL:
      return 'everything';
    case KeyScope.READ_ONLY:
      return 'read everything';
    case KeyScope.AGENT:
      return 'join a machine';
    case KeyScope.RESTRICTED:
      return `jobs: ${word(permissions?.jobs)}; the rest: ${word(permissions?.management)}`;
    default:
      return '';
  }
}

function wordIn<Value>(
  words: Readonly<Record<string, Value>>,
  body: Record<string, unknown>,
  name: string,
  otherwise: Value,
): Value {
  const given = body[name];
  if (given === undefined) return otherwise;
  const value = typeof given === 'string' && Object.hasOwn(words, given) ? words[given] : undefined;
  if (value === undefined)
    throw new CoreError('INVALID_REQUEST', `"${name}" must be one of ${Object.keys(words).join(', ')}.`);
  return value;
}

function textIn(body: Record<string, unknown>, name: string): string {
  const { [name]: given = '' } = body;
  if (typeof given !== 'string') throw new CoreError('INVALID_REQUEST', `"${name}" must be a text.`);
  return given;
}

function textsIn(body: Record<string, unknown>, name: string): string[] {
  const { [name]: given = [] } = body;
  if (!Array.isArray(given) || !given.every((each) => typeof each === 'string'))
    throw new CoreError('INVALID_REQUEST', `"${name}" must be a list of texts.`);
  return given;
}
