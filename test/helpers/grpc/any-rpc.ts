/** Calls any rpc of the contract by name, streams too, and returns its first answer. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientReadableStream, MethodDefinition, ServiceDefinition, ServiceError } from '@grpc/grpc-js';
import { Client, status } from '@grpc/grpc-js';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import { fromGrpcError } from '@slipway/proto/wire/reason';

type Method = MethodDefinition<object, object>;

/** Returns the rpcs of all services, by `Service/Method`. */
export async function allRpcs(): Promise<Map<string, Method>> {
  const folder = join(import.meta.dirname, '../../../proto/gen/slipway/v1');
  const found = new Map<string, Method>();
  for (const file of readdirSync(folder)) {
    const module = (await import(join(folder, file))) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (!name.endsWith('ServiceService')) continue;
      for (const method of Object.values(value as ServiceDefinition))
        found.set(method.path.replace('/slipway.v1.', ''), method as Method);
    }
  }
  return found;
}

/** Calls any rpc at one address. */
export function anyRpc(address: string) {
  const client = systemTransport.openClient(Client, address);
  return {
    close: () => client.close(),
    /**
     * Returns the first answer, of a stream too. Fields that the request does not give are empty. Failures are
     * CoreErrors.
     */
    call: (method: Method, request: object, key: string): Promise<object> => {
      const metadata = callMetadata(key);
      const message = { ...method.requestDeserialize(Buffer.alloc(0)), ...request };
      return new Promise<object>((resolve, reject) => {
        const done = (error: ServiceError | null, answer?: object): void =>
          error ? reject(fromGrpcError(error)) : resolve(answer!);
        const { path, requestSerialize: encode, responseDeserialize: decode } = method;
        if (!method.requestStream && !method.responseStream)
          return void client.makeUnaryRequest(path, encode, decode, message, metadata, done);
        if (!method.responseStream)
          return void client.makeClientStreamRequest(path, encode, decode, metadata, done).end(message);
        const first = <Stream extends ClientReadableStream<object>>(stream: Stream): Stream =>
          stream
            .on('data', (answer: object) => {
              resolve(answer);
              stream.cancel();
            })
            .on('error', (error: ServiceError) => {
              if (error.code !== status.CANCELLED) done(error);
            });
        if (!method.requestStream) first(client.makeServerStreamRequest(path, encode, decode, message, metadata));
        else first(client.makeBidiStreamRequest(path, encode, decode, metadata)).write(message);
      });
    },
  };
}
