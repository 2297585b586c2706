/** Resolvers of the catalog: GPU types, CPU types and data centers, read from CatalogService. */
import type {
  ListDataCentersResponse,
  ListGpuPoolsResponse,
  ListGpuTypesResponse,
} from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { GraphqlContext, Resolver } from '../core-calls.ts';
import { callCore, once } from '../core-calls.ts';
import { canRun, presentDataCenter, presentGpuType, presentLowestPrice, stockIn } from './present-catalog.ts';

const SERVICE = 'CatalogService';

type GpuTypeRecord = ReturnType<typeof presentGpuType>;

function gpuTypes(context: GraphqlContext): Promise<GpuTypeRecord[]> {
  return once(context, 'gpu types', async () =>
    ((await callCore<ListGpuTypesResponse>(context, SERVICE, 'ListGpuTypes', {})).gpuTypes ?? []).map(presentGpuType),
  );
}

function dataCenters(context: GraphqlContext) {
  return once(
    context,
    'data centers',
    async () => (await callCore<ListDataCentersResponse>(context, SERVICE, 'ListDataCenters', {})).dataCenters ?? [],
  );
}

const lowestPrice: Resolver<
  {
    input?: { gpuCount?: number | null; dataCenterId?: string | null; allowedCudaVersions?: string[] | null } | null;
  },
  GpuTypeRecord
> = async (type, { input }, context) => {
  const { stock } = type;
  const here = input?.dataCenterId
    ? stockIn(await dataCenters(context), input.dataCenterId, type.id, stock.countMax)
    : stock;
  const versions = input?.allowedCudaVersions ?? [];
  const fits = versions.length === 0 || versions.some((version) => canRun(type, version));
  const found = fits ? here : { ...here, free: 0, countMax: 0 };
  return presentLowestPrice(type, found, Math.max(1, input?.gpuCount ?? 1));
};

/** Part of Mesh's `additionalResolvers`. */
export const catalogResolvers = {
  Query: {
    gpuTypes: (async (_root, { input }, context) => {
      const wanted = [...(input?.id ? [input.id] : []), ...(input?.ids ?? [])];
      return (await gpuTypes(context)).filter(({ id }) => wanted.length === 0 || wanted.includes(id));
    }) satisfies Resolver<{ input?: { id?: string | null; ids?: string[] | null } | null }>,
    serverlessGpuPools: (async (_root, _args, context) =>
      (await callCore<ListGpuPoolsResponse>(context, SERVICE, 'ListGpuPools', {})).gpuPools ?? []) satisfies Resolver,
    dataCenters: (async (_root, _args, context) => {
      const names = new Map((await gpuTypes(context)).map(({ id, displayName }) => [id, displayName]));
      return (await dataCenters(context)).map((center) => presentDataCenter(center, names));
    }) satisfies Resolver,
    cpuFlavors: (() => []) satisfies Resolver,
  },
  GpuType: { lowestPrice },
};
