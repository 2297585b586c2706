/** A receiver of traces by OTLP's JSON, which takes what the protos of OTLP 1 name and nothing else, as a collector does. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** One span. Ids in hexadecimal digits. */
export interface SentSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentId: string;
  kind: number;
  startNs: bigint;
  endNs: bigint;
  links: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  isError: boolean;
}

interface Pair { key: string; value: object }
interface WireSpan {
  traceId: string; spanId: string; parentSpanId?: string; name: string; kind: number; startTimeUnixNano: string; endTimeUnixNano: string;
  attributes: Pair[]; links?: { traceId: string; spanId: string }[]; status?: { code: number; message: string };
}
interface Message { resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { scope: object; spans: WireSpan[] }[] }[] }

/** opentelemetry/proto/{collector/trace,trace,common,resource}/v1: the members of each message that may be sent, and how each is written. */
const ID = (digits: number) => (value: unknown): boolean => typeof value === 'string' && value.length === digits && /^(?!0*$)[0-9a-f]+$/.test(value);
const TEXT = (value: unknown): boolean => typeof value === 'string' && value.isWellFormed();
const INT64 = (value: unknown): boolean => typeof value === 'string' && /^-?[0-9]{1,19}$/.test(value);
const INT32 = (value: unknown): boolean => Number.isInteger(value);
type Shape = ((value: unknown) => boolean) | { [member: string]: Shape } | [Shape];
const ATTRIBUTES: Shape = [{
  key: TEXT, value: { stringValue: TEXT, intValue: INT64, boolValue: (value) => typeof value === 'boolean', doubleValue: (value) => typeof value === 'number' },
}];
const MESSAGE: Shape = { resourceSpans: [{
  resource: { attributes: ATTRIBUTES },
  scopeSpans: [{
    scope: { name: TEXT },
    spans: [{
      traceId: ID(32), spanId: ID(16), parentSpanId: ID(16), flags: INT32, name: TEXT, kind: INT32, startTimeUnixNano: INT64, endTimeUnixNano: INT64,
      attributes: ATTRIBUTES, links: [{ traceId: ID(32), spanId: ID(16), flags: INT32 }], status: { code: INT32, message: TEXT },
    }],
  }],
}] };

/** Where a value is not what its message takes; undefined: nowhere. */
function fault(value: unknown, shape: Shape, at = ''): string | undefined {
  if (typeof shape === 'function') return shape(value) ? undefined : `${at}: ${JSON.stringify(value)}`;
  if (Array.isArray(shape)) return Array.isArray(value) ? value.map((item) => fault(item, shape[0], `${at}[]`)).find((text) => text !== undefined) : at;
  const members = Object.entries(value as object);
  return members.map(([name, member]) => (shape[name] ? fault(member, shape[name], `${at}.${name}`) : `${at}.${name}`)).find((text) => text !== undefined);
}

/** Listens until the test ends. What it did not understand stands in `faults`. */
export async function receiveTraces(t: Pick<Test, 'teardown'>) {
  const spans: SentSpan[] = [];
  const bodies: Buffer[] = [];
  const faults: string[] = [];
  const server = createServer((request, reply) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      bodies.push(body);
      const message = JSON.parse(body.toString()) as Message;
      const wrong = request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json' ? 'another request' : fault(message, MESSAGE);
      if (wrong === undefined) spans.push(...decode(message));
      else faults.push(wrong);
      reply.writeHead(wrong === undefined ? 200 : 400, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.teardown(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies, faults };
}

function decode(message: Message): SentSpan[] {
  return message.resourceSpans.flatMap(({ resource, scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans.map((span) => ({
    service: String(attributesOf(resource.attributes)['service.name']), name: span.name, kind: span.kind,
    traceId: span.traceId, spanId: span.spanId, parentId: span.parentSpanId ?? '',
    startNs: BigInt(span.startTimeUnixNano), endNs: BigInt(span.endTimeUnixNano),
    links: span.links ?? [], attributes: attributesOf(span.attributes), isError: span.status?.code === 2,
  }))));
}

function attributesOf(pairs: readonly Pair[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => {
    const [[name, sent] = []] = Object.entries(value);
    return [key, name === 'intValue' ? Number(sent) : sent as unknown];
  }));
}
