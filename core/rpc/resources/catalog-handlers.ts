/**
 * CatalogService: decode, call a use case, encode. Any key that may read may call it, and so may callers without a key,
 * who see no data of an account.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { CatalogServiceServer } from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { Access } from '../../access/access.ts';
import type { CatalogContext } from '../../catalog/catalog-context.ts';
import { listDataCenters } from '../../catalog/list-data-centers.ts';
import { listGpuPools } from '../../catalog/list-gpu-pools.ts';
import { listGpuTypes } from '../../catalog/list-gpu-types.ts';
import { unary } from '../server/unary.ts';

/** Returns the handlers of the service. */
export function catalogHandlers(access: Access, context: CatalogContext, logger: Logger): CatalogServiceServer {
  return {
    listGpuTypes: unary(logger, async (_request, apiKey) => {
      if (apiKey !== '') await access.check(apiKey, { api: 'MANAGEMENT' });
      return { gpuTypes: await listGpuTypes(context) };
    }),
    listGpuPools: unary(logger, async (_request, apiKey) => {
      if (apiKey !== '') await access.check(apiKey, { api: 'MANAGEMENT' });
      return { gpuPools: listGpuPools() };
    }),
    listDataCenters: unary(logger, async (_request, apiKey) => {
      if (apiKey === '') return listDataCenters(context, undefined);
      const { accountId } = await access.check(apiKey, { api: 'MANAGEMENT' });
      return listDataCenters(context, accountId);
    }),
  };
}
