/** A receiver of traces, built from the protos of OTLP 1: what of opentelemetry/proto/{collector/trace,trace,common,resource}/v1 is looked at. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import type { Test } from 'tap';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`, { keepCase: false });
const Request = root.lookupType('ExportTraceServiceRequest');

/** One span. Ids in hexadecimal digits. */
export interface SentSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentId: string;
  startNs: bigint;
  endNs: bigint;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  isError: boolean;
}

interface Pair { key: string; value?: object }
interface WireSpan {
  traceId: Buffer; spanId: Buffer; parentSpanId: Buffer; name: string; startTimeUnixNano: object; endTimeUnixNano: object;
  attributes: Pair[]; links: { traceId: Buffer; spanId: Buffer }[]; status?: { code: number };
}

/** Listens until the test ends. */
export async function receiveTraces(t: Pick<Test, 'teardown'>) {
  const spans: SentSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, reply) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      bodies.push(body);
      if (request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf') spans.push(...decode(body));
      reply.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.teardown(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies };
}

function decode(body: Buffer): SentSpan[] {
  const message = Request.decode(body) as unknown as { resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { spans: WireSpan[] }[] }[] };
  return message.resourceSpans.flatMap(({ resource, scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans.map((span) => ({
    service: String(attributesOf(resource.attributes)['service.name']), name: span.name,
    traceId: hex(span.traceId), spanId: hex(span.spanId), parentId: hex(span.parentSpanId),
    startNs: BigInt(String(span.startTimeUnixNano)), endNs: BigInt(String(span.endTimeUnixNano)),
    links: span.links.map((link) => ({ traceId: hex(link.traceId), spanId: hex(link.spanId) })),
    attributes: attributesOf(span.attributes), isError: span.status?.code === 2,
  }))));
}

function attributesOf(pairs: readonly Pair[]): Record<string, unknown> {
  // Members that were not sent have defaults behind them, in the prototype.
  return Object.fromEntries(pairs.map(({ key, value }) => {
    const [sent] = Object.values({ ...value });
    return [key, typeof sent === 'object' ? Number(sent) : sent];
  }));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
