/**
 * GraphQL Mesh source over core's gRPC contract. The gRPC handler that Mesh publishes does not load on current Node; this joins the two
 * packages that it wraps: the schema from the .proto files, and the transport that executes it.
 */
import { PredefinedProxyOptions } from '@graphql-mesh/store';
import type { MeshStore } from '@graphql-mesh/store';
import { GrpcTransportHelper } from '@graphql-mesh/transport-grpc';
import type { Logger, MeshPubSub, YamlConfig } from '@graphql-mesh/types';
import { loadGrpcSubgraph } from '@omnigraph/grpc';
import type { GraphQLSchema } from 'graphql';

/** What Mesh hands to a source handler. */
interface HandlerOptions {
  name: string;
  config: YamlConfig.GrpcHandler;
  baseDir: string;
  store: MeshStore;
  logger: Logger;
  pubsub: MeshPubSub;
}

/** Named in .meshrc.yaml. */
export default class CoreGrpcHandler {
  readonly #options: HandlerOptions;
  #address: string;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#address = options.config.endpoint;
  }

  /** Where core is: a gRPC target. Call it before the mesh is made; the address of .meshrc.yaml is for building only. */
  connectTo(address: string): void {
    this.#address = address;
  }

  /** The schema with resolvers that call core. */
  async getMeshSource(): Promise<{ schema: GraphQLSchema }> {
    const { name, config, baseDir, store, logger, pubsub } = this.#options;
    const transport = new GrpcTransportHelper(name, baseDir, logger, this.#address, config as never);
    const stored = store.proxy('schemaWithAnnotations', PredefinedProxyOptions.GraphQLSchemaWithDiffing);
    const schema = await stored.getWithSet(() => loadGrpcSubgraph(name, config)({ cwd: baseDir, logger }).schema$) as GraphQLSchema;
    transport.processDirectives({ schema, creds: await transport.getCredentials() });
    pubsub.subscribe('destroy', () => transport.dispose());
    return { schema };
  }
}
