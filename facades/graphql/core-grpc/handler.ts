/**
 * GraphQL Mesh source over core's gRPC contract. The gRPC handler that Mesh publishes does not load on current Node;
 * this joins the two packages that it wraps: the schema from the .proto files, and the transport that executes it.
 */

import type { MeshStore } from '@graphql-mesh/store';
import { PredefinedProxyOptions } from '@graphql-mesh/store';
import { GrpcTransportHelper } from '@graphql-mesh/transport-grpc';
import type { Logger, MeshPubSub, YamlConfig } from '@graphql-mesh/types';
import type { GrpcObject, ServiceClientConstructor, ServiceDefinition } from '@grpc/grpc-js';
import { Client } from '@grpc/grpc-js';
import { loadGrpcSubgraph } from '@omnigraph/grpc';
import { withBytes } from '@slipway/proto/wire/answer-bytes';
import type { GraphQLFieldResolver } from 'graphql';
import { GraphQLObjectType, GraphQLScalarType, GraphQLSchema } from 'graphql';
import type { CoreServices } from '../../core-client/core-services.ts';
import type { ServiceCalls, UnaryMethod } from '../../core-client/service-calls.ts';

/** Arguments that Mesh passes to a source handler. */
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
  #calls: ServiceCalls<Client> | undefined;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  /** Sets the client of core. Must be called before the first operation; a build does not need it. */
  connectTo(core: CoreServices): void {
    this.#calls = core.callsOf(Client);
  }

  /** Returns the schema with resolvers that call core. */
  async getMeshSource(): Promise<{ schema: GraphQLSchema }> {
    const { name, config, baseDir, store, logger, pubsub } = this.#options;
    const transport = new CoreTransport(() => this.#calls!, this.#options);
    const stored = store.proxy('schemaWithAnnotations', PredefinedProxyOptions.GraphQLSchemaWithDiffing);
    const schema = (await stored.getWithSet(
      () => loadGrpcSubgraph(name, config)({ cwd: baseDir, logger }).schema$,
    )) as GraphQLSchema;
    transport.processDirectives({ schema, creds: undefined as never });
    pubsub.subscribe('destroy', () => transport.dispose());
    return { schema: answersWhole(schema) };
  }
}

/** Placeholder for a client in Mesh, which only passes it from `getServiceClient` to `getFieldResolver`. */
type MeshClient = ReturnType<GrpcTransportHelper['getServiceClient']>;
/** Part of an operation's context that a call needs. */
interface CallContext {
  apiKey: string;
}

/** Calls that only read begin with one of these verbs; they may be made again. */
const READS = /^(Get|List)/;
/** Time for one try, in milliseconds. */
const TRY_MS = 10_000;

/** Mesh's transport, by the facade's own client of core: Mesh brings the messages' encoding, and opens nothing. */
class CoreTransport extends GrpcTransportHelper {
  readonly #calls: () => ServiceCalls<Client>;

  constructor(calls: () => ServiceCalls<Client>, { name, config, baseDir, logger }: HandlerOptions) {
    super(name, baseDir, logger, config.endpoint, config as never);
    this.#calls = calls;
  }

  /** Returns the definition of the service with this full name, for instance slipway.v1.PodService. */
  override getServiceClient({ grpcObject, objPath }: { grpcObject: GrpcObject; objPath: string }): MeshClient {
    const found = objPath.split('.').reduce<unknown>((place, name) => (place as GrpcObject)[name], grpcObject);
    return (found as ServiceClientConstructor).service as unknown as MeshClient;
  }

  override getFieldResolver({
    client,
    methodName,
  }: {
    client: MeshClient;
    methodName: string;
  }): GraphQLFieldResolver<unknown, CallContext> {
    const { path, requestSerialize, responseDeserialize } = (client as unknown as ServiceDefinition)[methodName]!;
    const deserialize = (bytes: Buffer): object => withBytes(responseDeserialize(bytes) as object, bytes.length);
    const method =
      (of: Client): UnaryMethod<unknown, unknown> =>
      (request, metadata, options, done) =>
        of.makeUnaryRequest(path, requestSerialize, deserialize, request, metadata, options, done as never);
    const repeatable = READS.test(methodName);
    return (_root, { input }, { apiKey }) =>
      this.#calls().call(method, input as unknown, { apiKey, repeatable, tryMs: TRY_MS });
  }
}

/**
 * Makes every call return its message as one value. The raw calls are not public. Resolving their results field by
 * field here, and again in the public schema, would double the cost of every list.
 */
function answersWhole(schema: GraphQLSchema): GraphQLSchema {
  const { query, mutation, subscription: _none, types, ...rest } = schema.toConfig();
  const others = types.filter((type) => type !== query && type !== mutation && type !== schema.getSubscriptionType());
  return new GraphQLSchema({
    ...rest,
    query: answering(query),
    mutation: answering(mutation),
    types: [...others, CoreAnswer],
  });
}

function answering(root: GraphQLObjectType | null | undefined): GraphQLObjectType | undefined {
  if (!root) return undefined;
  const { fields, ...rest } = root.toConfig();
  const answers = Object.entries(fields).map(([name, field]) => [name, { ...field, type: CoreAnswer }]);
  return new GraphQLObjectType({ ...rest, fields: Object.fromEntries(answers) as typeof fields });
}
