/**
 * GraphQL Mesh source over core's gRPC contract. The gRPC handler that Mesh publishes does not load on current Node; this joins the two
 * packages that it wraps: the schema from the .proto files, and the transport that executes it.
 */
import { PredefinedProxyOptions } from '@graphql-mesh/store';
import type { MeshStore } from '@graphql-mesh/store';
import { GrpcTransportHelper } from '@graphql-mesh/transport-grpc';
import type { Logger, MeshPubSub, YamlConfig } from '@graphql-mesh/types';
import type { Client, GrpcObject, ServiceClientConstructor } from '@grpc/grpc-js';
import { loadGrpcSubgraph } from '@omnigraph/grpc';
import { GraphQLObjectType, GraphQLScalarType, GraphQLSchema } from 'graphql';
import { openClient } from '../../../proto/wire/channel.ts';

/** What Mesh hands to a source handler. */
interface HandlerOptions {
  name: string;
  config: YamlConfig.GrpcHandler;
  baseDir: string;
  store: MeshStore;
  logger: Logger;
  pubsub: MeshPubSub;
}

/** Whatever core answered, as the transport decoded it. */
const CoreAnswer = new GraphQLScalarType({ name: 'CoreAnswer', description: 'A message of the contract.' });

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
    const transport = new CoreTransport(this.#address, name, baseDir, logger, config);
    const stored = store.proxy('schemaWithAnnotations', PredefinedProxyOptions.GraphQLSchemaWithDiffing);
    const schema = await stored.getWithSet(() => loadGrpcSubgraph(name, config)({ cwd: baseDir, logger }).schema$) as GraphQLSchema;
    transport.processDirectives({ schema, creds: await transport.getCredentials() });
    pubsub.subscribe('destroy', () => transport.dispose());
    return { schema: answersWhole(schema) };
  }
}

/** Mesh's transport on channels like everybody else's here. */
class CoreTransport extends GrpcTransportHelper {
  readonly #address: string;
  readonly #clients = new Map<string, Client>();

  constructor(address: string, name: string, baseDir: string, logger: Logger, config: YamlConfig.GrpcHandler) {
    super(name, baseDir, logger, address, config as never);
    this.#address = address;
    this.defer(() => { for (const client of this.#clients.values()) client.close(); });
  }

  /** `objPath`: full name of a service, for instance slipway.v1.PodService. */
  override getServiceClient({ grpcObject, objPath }: { grpcObject: GrpcObject; objPath: string }): ReturnType<GrpcTransportHelper['getServiceClient']> {
    const known = this.#clients.get(objPath);
    if (known) return known as ReturnType<GrpcTransportHelper['getServiceClient']>;
    const constructor = objPath.split('.').reduce<unknown>((found, name) => (found as GrpcObject)[name], grpcObject);
    const client = openClient(constructor as ServiceClientConstructor, this.#address);
    this.#clients.set(objPath, client);
    return client;
  }
}

/**
 * Lets every call answer its message as one value. The raw calls are not public: walking their answers field by field here, to walk them
 * once more in the public schema, would double the cost of every list.
 */
function answersWhole(schema: GraphQLSchema): GraphQLSchema {
  const { query, mutation, subscription: _none, types, ...rest } = schema.toConfig();
  const others = types.filter((type) => type !== query && type !== mutation && type !== schema.getSubscriptionType());
  return new GraphQLSchema({ ...rest, query: answering(query), mutation: answering(mutation), types: [...others, CoreAnswer] });
}

function answering(root: GraphQLObjectType | null | undefined): GraphQLObjectType | undefined {
  if (!root) return undefined;
  const { fields, ...rest } = root.toConfig();
  const answers = Object.entries(fields).map(([name, field]) => [name, { ...field, type: CoreAnswer }]);
  return new GraphQLObjectType({ ...rest, fields: Object.fromEntries(answers) as typeof fields });
}
