/** Release history of an endpoint: its versions, and the change, key and time of each. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../plugins/public-id.ts';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import { publicNames } from '../../resources/field.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { ReleaseView } from '../views-of-settings.ts';
import { optionsOf, textOf } from './list-query.ts';

const PAGE_SIZE = 50;
const NAMES: Readonly<Record<string, string>> = { ...publicNames(TEMPLATE, 'rest'), ...publicNames(ENDPOINT, 'rest') };

/** Adds the route. Query: `before`, the id of the last release that is shown. */
export function releaseRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/endpoints/:id/releases', { onRequest }, async (request): Promise<readonly ReleaseView[]> => {
    const endpointId = endpointIdInPath(request);
    const before = textOf(request, 'before') || '0';
    if (!/^\d{1,15}$/.test(before)) throw new CoreError('INVALID_REQUEST', '"before" must be the id of a change.');
    const asked = { endpointId, pageSize: PAGE_SIZE, beforeId: Number(before) };
    const { releases } = await core.endpoints.call((client) => client.listReleases, asked, optionsOf(request));
    return releases.map(({ time, values, ...release }) => ({
      ...release,
      atMs: time?.getTime() ?? 0,
      fields: release.fields.map((field) => NAMES[field] ?? field),
      values: values.map(({ field, oldJson, newJson }) => ({ field: NAMES[field] ?? field, oldJson, newJson })),
    }));
  });
}
