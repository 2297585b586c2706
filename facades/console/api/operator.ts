/** Routes for the operator: accounts with their quotas, and prices. Core rejects everyone else. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { ConsoleParts } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { ListView } from '../views.ts';
import { optionsOf } from './list-query.ts';

/** Members of a quota. */
const QUOTA = ['workers', 'gpus', 'queuedJobs', 'requests', 'gpuWeight'] as const;

/** Adds the routes. */
export function operatorRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.post('/console/api/accounts', { onRequest }, async (request) => {
    const { name } = settingsOf(request);
    if (typeof name !== 'string') throw new CoreError('INVALID_REQUEST', '"name" must be a text.');
    const { accountId } = await core.access.call((client) => client.createAccount, { name }, optionsOf(request));
    return { id: accountId };
  });
  // Replaces the previous quota. An absent number means no limit.
  app.post('/console/api/accounts/:id/quota', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    const body = settingsOf(request);
    const quota = Object.fromEntries(
      QUOTA.flatMap((name) => (body[name] === undefined ? [] : [[name, wholeIn(body, name)]])),
    );
    await core.access.call((client) => client.setQuota, { accountId: id, quota }, optionsOf(request));
    return {};
  });
  app.get('/console/api/prices', { onRequest }, async (request): Promise<ListView> => {
    const { prices } = await core.usage.call((client) => client.listPrices, {}, optionsOf(request));
    return { rows: prices.map(({ item, usdPerHour }) => ({ item, usdPerHour })), next: '' };
  });
  app.post('/console/api/prices', { onRequest }, async (request) => {
    const { item, usdPerHour } = settingsOf(request);
    if (typeof item !== 'string' || typeof usdPerHour !== 'number')
      throw new CoreError('INVALID_REQUEST', '"item" must be a text and "usdPerHour" a number.');
    await core.usage.call((client) => client.setPrices, { prices: [{ item, usdPerHour }] }, optionsOf(request));
    return {};
  });
}

function wholeIn(body: Record<string, unknown>, name: string): number {
  const value = body[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) < 2 ** 31) return value;
  throw new CoreError('INVALID_REQUEST', `"${name}" must be a whole number.`);
}
