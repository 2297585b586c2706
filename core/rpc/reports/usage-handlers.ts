/** UsageService: decode, call a use case, encode. */

import type { Logger } from '@slipway/kit/log/logger';
import type { UsageServiceServer } from '@slipway/proto/gen/slipway/v1/usage_service';
import type { Access } from '../../access/access.ts';
import type { UsageContext } from '../../reports/usage-and-prices.ts';
import { deletePrices, listUsage, setPrices } from '../../reports/usage-and-prices.ts';
import { namedAccount } from '../server/own-account.ts';
import { pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { usageRequestFromMessage, usageToMessage } from './usage-messages.ts';

/** Returns the handlers of the service. */
export function usageHandlers(access: Access, context: UsageContext, logger: Logger): UsageServiceServer {
  return {
    listUsage: unary(logger, async (request, apiKey) => {
      const { accountId, caller } = await namedAccount(access, apiKey, request.accountId);
      const usageRequest = usageRequestFromMessage(request);
      const { pageSize, pageToken = '', view } = request;
      const page = pageSize === undefined && pageToken === '' && !view ? undefined : pageRequestOf(request, 'time');
      const { records, next, totals } = await listUsage(context, accountId, usageRequest, caller.endpointIds, page);
      return {
        records: records.map((record) => usageToMessage(record, usageRequest.grouping)),
        nextPageToken: tokenOf(next, page),
        totals,
      };
    }),
    listPrices: unary(logger, async (_request, apiKey) => {
      await access.check(apiKey, { api: 'MANAGEMENT' });
      return { prices: await context.prices.list() };
    }),
    setPrices: unary(logger, async ({ prices }, apiKey) => {
      await setPrices(context, await access.caller(apiKey), prices);
      return {};
    }),
    deletePrices: unary(logger, async ({ items }, apiKey) => {
      await deletePrices(context, await access.caller(apiKey), items);
      return {};
    }),
  };
}
