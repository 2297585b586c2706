/**
 * OTLP's messages as its makers publish them (test/otlp), read by the strict parser of protobuf's JSON: a member that
 * no message has, or a value that is not of its member's type, is an error.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createFileRegistry, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf';
import type { DescMessage, JsonValue } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const root = join(import.meta.dirname, '../..');
/** The one thing in which OTLP's JSON is not protobuf's: ids are hexadecimal digits, not base64. */
const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);
let known: DescMessage | undefined;

function traceRequest(): DescMessage {
  if (known) return known;
  const buf = join(root, 'node_modules/.bin/buf');
  const set = execFileSync(buf, ['build', join(root, 'test/otlp'), '--as-file-descriptor-set', '-o', '-'], { stdio: ['ignore', 'pipe', 'pipe'] });
  known = createFileRegistry(fromBinary(FileDescriptorSetSchema, set)).getMessage('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
  return known!;
}

/** What protobuf's parser has against a request for traces; undefined: nothing. */
export function faultOfTraces(body: string): string | undefined {
  try {
    const json = JSON.parse(body, (name, value: unknown) => {
      if (!IDS.has(name)) return value;
      if (typeof value !== 'string' || !/^([0-9a-f]{16}|[0-9a-f]{32})$/.test(value)) throw new Error(`${name} is ${JSON.stringify(value)}`);
      return Buffer.from(value, 'hex').toString('base64');
    }) as JsonValue;
    // Text that is no Unicode is found where it is made bytes.
    toBinary(traceRequest(), fromJson(traceRequest(), json));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
