/** GPU types to choose from: those of connected machines, and how many are free now. */

import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { ConsoleParts } from '../console-parts.ts';
import type { GpuTypeView } from '../views-of-settings.ts';
import { optionsOf } from './list-query.ts';

/** Adds the route. */
export function fleetRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/gpu-types', { onRequest }, async (request): Promise<readonly GpuTypeView[]> => {
    const { gpuTypes } = await core.catalog.call((client) => client.listGpuTypes, {}, optionsOf(request));
    return gpuTypes
      .filter(({ total }) => total > 0)
      .map(({ id, memoryGb, total, free }) => ({ id, memoryGb, total, free }));
  });
}
