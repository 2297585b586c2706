/** Composes the mesh: the public schema over core's calls. It loads slowly. */

import MemoryCache from '@graphql-mesh/cache-inmemory-lru';
import StitchingMerger from '@graphql-mesh/merger-stitching';
import type { MeshInstance } from '@graphql-mesh/runtime';
import { getMesh } from '@graphql-mesh/runtime';
import FilterSchema from '@graphql-mesh/transform-filter-schema';
import PruneSchema from '@graphql-mesh/transform-prune';
import { DefaultLogger, PubSub } from '@graphql-mesh/utils';
import type { GraphQLFieldResolver } from 'graphql';
import { isIntrospectionType, isObjectType, parse } from 'graphql';
import type { CoreServices } from '../core-client/core-services.ts';
import compileReads from './compile-reads.ts';
import { SOURCE } from './core-grpc/core-schema.ts';
import { coreSource } from './core-grpc/core-source.ts';
import noFetch from './no-fetch.ts';
import resolvers from './resolvers.ts';

/** Schemas that build.ts writes into `.mesh`. */
interface Artifact {
  coreSchema: string;
  publicSchema: string;
}

const ARTIFACT = new URL('./.mesh/index.mjs', import.meta.url);

/** Returns the mesh. Its calls go to `core`. */
export async function composeMesh(core: CoreServices): Promise<MeshInstance> {
  const { coreSchema, publicSchema } = (await import(ARTIFACT.href)) as Artifact;
  const typeDefs = parse(publicSchema, { noLocation: true });
  const logger = new DefaultLogger('');
  const pubsub = new PubSub();
  const cache = new MemoryCache();
  const shared = { apiName: '', baseDir: '', cache, pubsub, logger, importFn: noFetch };
  const mesh = await getMesh({
    sources: [{ name: SOURCE, handler: coreSource(coreSchema, core, logger) }],
    merger: new StitchingMerger({ cache, pubsub, logger } as never),
    // Only the public names remain; resolvers still reach the raw calls through their context.
    transforms: [
      new FilterSchema({ ...shared, config: { mode: 'bare', filters: ['Query.!slipway_*', 'Mutation.!slipway_*'] } }),
      new PruneSchema({ ...shared, config: {} }),
    ],
    additionalTypeDefs: [typeDefs],
    additionalResolvers: resolvers,
    additionalEnvelopPlugins: compileReads,
    cache,
    pubsub,
    logger,
    fetchFn: noFetch,
  });
  return withPlainFields(mesh);
}

/**
 * Sets our own resolvers on the fields of our types and removes those of other fields. Stitching wraps each resolver in
 * one that checks, for every value of a list, whether the rest must be fetched from a source. Our types are in no
 * source.
 */
function withPlainFields(mesh: MeshInstance): MeshInstance {
  for (const type of Object.values(mesh.schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    const ours =
      (resolvers as unknown as Record<string, Record<string, GraphQLFieldResolver<unknown, unknown>>>)[type.name] ?? {};
    for (const field of Object.values(type.getFields())) field.resolve = ours[field.name];
  }
  return mesh;
}
