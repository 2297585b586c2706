/** The source of the mesh over core's gRPC contract. Its calls go through the facade's own client of core. */

import { GrpcTransportHelper } from '@graphql-mesh/transport-grpc';
import type { Logger, MeshHandler } from '@graphql-mesh/types';
import type { GrpcObject, ServiceClientConstructor, ServiceDefinition } from '@grpc/grpc-js';
import { Client } from '@grpc/grpc-js';
import { withBytes } from '@slipway/proto/wire/answer-bytes';
import type { GraphQLFieldResolver } from 'graphql';
import { buildSchema } from 'graphql';
import type { CoreServices } from '../../core-client/core-services.ts';
import type { ServiceCalls, UnaryMethod } from '../../core-client/service-calls.ts';
import { READS, SOURCE } from './core-schema.ts';

/** Time for one try, in milliseconds. */
const TRY_MS = 10_000;

/** Returns the source. `schema`: what coreSchema wrote. */
export function coreSource(schema: string, core: CoreServices, logger: Logger): MeshHandler {
  return {
    getMeshSource: async () => {
      const source = buildSchema(schema, { assumeValid: true, assumeValidSDL: true, noLocation: true });
      new CoreTransport(core.callsOf(Client), logger).processDirectives({ schema: source, creds: undefined as never });
      return { schema: source };
    },
  };
}

/** Placeholder for a client in Mesh, which only passes it from `getServiceClient` to `getFieldResolver`. */
type MeshClient = ReturnType<GrpcTransportHelper['getServiceClient']>;
/** Part of an operation's context that a call needs. */
interface CallContext {
  apiKey: string;
}

/** Mesh's transport, by the facade's own client of core: Mesh brings the messages' encoding, and opens nothing. */
class CoreTransport extends GrpcTransportHelper {
  readonly #calls: ServiceCalls<Client>;

  constructor(calls: ServiceCalls<Client>, logger: Logger) {
    super(SOURCE, '', logger, '', {});
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
      this.#calls.call(method, input as unknown, { apiKey, repeatable, tryMs: TRY_MS });
  }
}
