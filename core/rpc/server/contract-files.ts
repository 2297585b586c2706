/** Reads the contract's files for server reflection (reflection.ts) from proto/gen/descriptors.binpb. */
import { readFileSync } from 'node:fs';
import type { DescFile, FileRegistry } from '@bufbuild/protobuf';
import { createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const DESCRIPTORS = new URL(import.meta.resolve('@slipway/proto/gen/descriptors.binpb'));

/** Files and services of the contract, by the names that clients ask for. */
export interface Contract {
  registry: FileRegistry;
  /** The file of every message, enum and service, and of their fields, values and methods, by full name. */
  files: ReadonlyMap<string, DescFile>;
  /** The encoded bytes of every file. */
  encoded: ReadonlyMap<DescFile, Buffer>;
  /** Full names of the services. */
  services: readonly string[];
}

/** Reads the contract that `npm run gen` wrote. */
export function readContract(): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTORS)));
  const files = new Map<string, DescFile>();
  const services: string[] = [];
  for (const type of registry) {
    if (type.kind === 'extension') continue;
    files.set(type.typeName, type.file);
    // The full names of enum values are in the scope of the enum, not inside it.
    const scope = type.kind === 'enum' ? type.typeName.slice(0, type.typeName.lastIndexOf('.')) : type.typeName;
    for (const name of partsOf(type)) files.set(`${scope}.${name}`, type.file);
    if (type.kind === 'service') services.push(type.typeName);
  }
  const encoded = new Map(
    [...registry.files].map((file) => [file, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto))]),
  );
  return { registry, files, encoded, services: services.sort() };
}

function partsOf(type: Exclude<ReturnType<FileRegistry['get']>, undefined>): string[] {
  switch (type.kind) {
    case 'message':
      return [...type.fields, ...type.oneofs].map((part) => part.name);
    case 'enum':
      return type.values.map((part) => part.name);
    case 'service':
      return type.methods.map((part) => part.name);
    case 'extension':
      return [];
  }
}
