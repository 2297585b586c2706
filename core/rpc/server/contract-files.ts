/** The contract's files as server reflection tells them (reflection.ts), from proto/gen/descriptors.binpb. */
import { readFileSync } from 'node:fs';
import type { DescFile, FileRegistry } from '@bufbuild/protobuf';
import { createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const DESCRIPTORS = new URL(import.meta.resolve('@slipway/proto/gen/descriptors.binpb'));

/** What is served, by the names that clients ask for. */
export interface Contract {
  registry: FileRegistry;
  /** The file of every message, enum, service, and of the fields, values and methods in them, by full name. */
  files: ReadonlyMap<string, DescFile>;
  /** Every file as it travels. */
  encoded: ReadonlyMap<DescFile, Buffer>;
  /** Full names. */
  services: readonly string[];
}

/** Reads it from what `npm run gen` wrote. */
export function readContract(): Contract {
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
