/**
 * Server reflection: lets tools like grpcurl read the contract from a running core, with the real files
 * (proto/gen/descriptors.binpb, which `npm run gen` writes), their imports and comments. We do not use
 * @grpc/reflection, because it serves other files: one per package, without imports. It also reads requests without
 * limit from a caller that does not read the responses.
 */
import { once } from 'node:events';
import type { DescFile } from '@bufbuild/protobuf';
import type { Server, ServerDuplexStream } from '@grpc/grpc-js';
import { status as Code } from '@grpc/grpc-js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '@slipway/proto/gen/grpc/reflection/v1/reflection';
import { ServerReflectionService } from '@slipway/proto/gen/grpc/reflection/v1/reflection';
import type { Contract } from './contract-files.ts';

type Stream = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/** Both versions have the same messages. Older clients know only the other name. */
const V1 = ServerReflectionService.serverReflectionInfo;
const V1_ALPHA = { ...V1, path: '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo' as typeof V1.path };

/**
 * Adds both versions of the reflection service. The contract is read on the first request: reading it at the start took
 * half of core's start time.
 */
export function addReflection(server: Server): void {
  let read: Promise<Contract> | undefined;
  const contract = (): Promise<Contract> =>
    (read ??= import('./contract-files.ts').then(({ readContract }) => readContract()));
  const serverReflectionInfo = (stream: Stream): void => {
    // The caller has disconnected: there is no one to answer.
    answerAll(stream, contract).catch(() => stream.destroy());
  };
  server.addService(ServerReflectionService, { serverReflectionInfo });
  server.addService({ serverReflectionInfo: V1_ALPHA }, { serverReflectionInfo });
}

/** Sends one response after another. A response is not built before the caller reads the previous one. */
async function answerAll(stream: Stream, read: () => Promise<Contract>): Promise<void> {
  const gone = new AbortController();
  stream.once('cancelled', () => gone.abort());
  const contract = await read();
  for await (const request of stream as AsyncIterable<ServerReflectionRequest>) {
    const messageResponse = answer(request, contract);
    const hasCapacity = stream.write({ validHost: request.host, originalRequest: request, messageResponse });
    if (!hasCapacity) await once(stream, 'drain', { signal: gone.signal });
  }
  stream.end();
}

function answer({ messageRequest: asked }: ServerReflectionRequest, contract: Contract): Answer {
  switch (asked?.$case) {
    case 'listServices':
      return { $case: 'listServicesResponse', value: { service: contract.services.map((name) => ({ name })) } };
    case 'fileByFilename':
      return filesOf(contract, contract.registry.getFile(asked.value), `file ${asked.value}`);
    case 'fileContainingSymbol':
      return filesOf(contract, contract.files.get(asked.value), `symbol ${asked.value}`);
    // The contract has no extensions.
    case 'fileContainingExtension':
      return notFound(`extension ${asked.value.extensionNumber} of ${asked.value.containingType}`);
    case 'allExtensionNumbersOfType':
      if (contract.registry.getMessage(asked.value) === undefined) return notFound(`message ${asked.value}`);
      return { $case: 'allExtensionNumbersResponse', value: { baseTypeName: asked.value, extensionNumber: [] } };
    case undefined:
      return {
        $case: 'errorResponse',
        value: { errorCode: Code.INVALID_ARGUMENT, errorMessage: 'The request asks for nothing known here.' },
      };
  }
}

function notFound(what: string): Answer {
  return { $case: 'errorResponse', value: { errorCode: Code.NOT_FOUND, errorMessage: `There is no ${what} here.` } };
}

/** Returns a file and all its imports, so that a client needs one request only. */
function filesOf({ encoded }: Contract, file: DescFile | undefined, what: string): Answer {
  if (!file) return notFound(what);
  const found = new Set<DescFile>();
  const add = (one: DescFile): void => {
    if (found.has(one)) return;
    found.add(one);
    one.dependencies.forEach(add);
  };
  add(file);
  return {
    $case: 'fileDescriptorResponse',
    value: { fileDescriptorProto: [...found].map((one) => encoded.get(one)!) },
  };
}
