/**
 * Server reflection: lets grpcurl and its like read the contract from a running core, with the real files (proto/gen/descriptors.binpb, which
 * `npm run gen` writes), what they import and their comments. Own code because @grpc/reflection serves other files than these: one for each
 * package, without what they import, and reads requests without end from a caller who does not read the answers.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { DescFile, FileRegistry } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { status as Code } from '@grpc/grpc-js';
import type { Server, ServerDuplexStream } from '@grpc/grpc-js';
import { ServerReflectionService } from '../../proto/gen/grpc/reflection/v1/reflection.ts';
import type { ServerReflectionRequest, ServerReflectionResponse } from '../../proto/gen/grpc/reflection/v1/reflection.ts';

type Stream = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

const DESCRIPTORS = new URL('../../proto/gen/descriptors.binpb', import.meta.url);

/** Both versions have the same messages; older clients know only the other name. */
const V1 = ServerReflectionService.serverReflectionInfo;
const V1_ALPHA = { ...V1, path: '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo' as typeof V1.path };

/** Adds the reflection service, in both its versions. */
export function addReflection(server: Server): void {
  const contract = readContract();
  const serverReflectionInfo = (stream: Stream): void => {
    // A caller who went away: there is nobody to tell.
    answerAll(stream, contract).catch(() => stream.destroy());
  };
  server.addService(ServerReflectionService, { serverReflectionInfo });
  server.addService({ serverReflectionInfo: V1_ALPHA }, { serverReflectionInfo });
}

/** One answer after the other: what the caller does not read is not made. */
async function answerAll(stream: Stream, contract: Contract): Promise<void> {
  const gone = new AbortController();
  stream.once('cancelled', () => gone.abort());
  for await (const request of stream as AsyncIterable<ServerReflectionRequest>) {
    const messageResponse = answer(request, contract);
    const room = stream.write({ validHost: request.host, originalRequest: request, messageResponse });
    if (!room) await once(stream, 'drain', { signal: gone.signal });
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
      return { $case: 'errorResponse', value: { errorCode: Code.INVALID_ARGUMENT, errorMessage: 'The request asks for nothing known here.' } };
  }
}

function notFound(what: string): Answer {
  return { $case: 'errorResponse', value: { errorCode: Code.NOT_FOUND, errorMessage: `There is no ${what} here.` } };
}

/** A file and all that it imports, so that a client needs to ask once. */
function filesOf({ encoded }: Contract, file: DescFile | undefined, what: string): Answer {
  if (!file) return notFound(what);
  const found = new Set<DescFile>();
  const add = (one: DescFile): void => {
    if (found.has(one)) return;
    found.add(one);
    one.dependencies.forEach(add);
  };
  add(file);
  return { $case: 'fileDescriptorResponse', value: { fileDescriptorProto: [...found].map((one) => encoded.get(one)!) } };
}

/** What is served, by the names that clients ask for. */
interface Contract {
  registry: FileRegistry;
  /** The file of every message, enum, service, and of the fields, values and methods in them, by full name. */
  files: ReadonlyMap<string, DescFile>;
  /** Every file as it travels. */
  encoded: ReadonlyMap<DescFile, Buffer>;
  /** Full names. */
  services: readonly string[];
}

function readContract(): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTORS)));
  const files = new Map<string, DescFile>();
  const services: string[] = [];
  for (const type of registry) {
    if (type.kind === 'extension') continue;
    files.set(type.typeName, type.file);
    // The values of an enum are named as its neighbours, not as its members.
    const scope = type.kind === 'enum' ? type.typeName.slice(0, type.typeName.lastIndexOf('.')) : type.typeName;
    for (const name of partsOf(type)) files.set(`${scope}.${name}`, type.file);
    if (type.kind === 'service') services.push(type.typeName);
  }
  const encoded = new Map([...registry.files].map((file) => [file, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto))]));
  return { registry, files, encoded, services: services.sort() };
}

function partsOf(type: Exclude<ReturnType<FileRegistry['get']>, undefined>): string[] {
  switch (type.kind) {
    case 'message': return [...type.fields, ...type.oneofs].map((part) => part.name);
    case 'enum': return type.values.map((part) => part.name);
    case 'service': return type.methods.map((part) => part.name);
    case 'extension': return [];
  }
}
