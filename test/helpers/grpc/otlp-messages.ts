/**
 * Parses messages by the published definitions of OTLP (test/otlp) and encodes them again. Equal bytes prove that there
 * are no unknown members, invalid texts or wrong lengths.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { DescMessage } from '@bufbuild/protobuf';
import { createFileRegistry, fromBinary, toBinary, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const root = join(import.meta.dirname, '../../..');
let known: DescMessage | undefined;

interface Pair {
  key: string;
  value: object;
}
/** Ids in base64. */
export interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name?: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  flags: number;
  attributes?: Pair[];
  links?: { traceId: string; spanId: string; flags: number }[];
  status?: { code: number; message?: string };
}
/** A request for traces, as protobuf's JSON has it. */
export interface WireTraces {
  resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { scope: object; spans: WireSpan[] }[] }[];
}

function traceRequest(): DescMessage {
  if (known) return known;
  const buf = join(root, 'node_modules/.bin/buf');
  const set = execFileSync(buf, ['build', join(root, 'test/otlp'), '--as-file-descriptor-set', '-o', '-'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  known = createFileRegistry(fromBinary(FileDescriptorSetSchema, set)).getMessage(
    'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
  );
  return known!;
}

/** Reads one. Throws what is wrong with it. */
export function readTraces(body: Uint8Array): WireTraces {
  const message = fromBinary(traceRequest(), body);
  if (Buffer.compare(toBinary(traceRequest(), message, { writeUnknownFields: false }), body) !== 0)
    throw new Error('protobuf itself writes it in another way');
  const traces = toJson(traceRequest(), message, { enumAsInteger: true }) as unknown as WireTraces;
  for (const span of traces.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)))
    checkIds(span);
  return traces;
}

function checkIds({ traceId, spanId, parentSpanId, links = [] }: WireSpan): void {
  for (const id of [traceId, ...links.map((link) => link.traceId)]) checkId(id, 16);
  for (const id of [spanId, parentSpanId ?? spanId, ...links.map((link) => link.spanId)]) checkId(id, 8);
}

/** In base64; absent where it is empty. */
function checkId(id: string | undefined, bytes: number): void {
  const value = Buffer.from(id ?? '', 'base64');
  if (value.length !== bytes || value.every((byte) => byte === 0)) throw new Error(`an id is ${JSON.stringify(id)}`);
}
