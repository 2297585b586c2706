/** A receiver of traces by OTLP over HTTP. Like a collector, it rejects everything that is no OTLP message. */

import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import type { WireTraces } from './otlp-messages.ts';
import { readTraces } from './otlp-messages.ts';

/** One span. Ids in hexadecimal digits. */
export interface SentSpan {
  service: string;
  /** Attributes of the process. */
  resource: Record<string, unknown>;
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

/** An answer of a collector that takes nothing now. */
export interface Refusal {
  status: number;
  headers?: Record<string, string>;
}

/**
 * Listens until the test ends. `faults` collects messages that it could not parse. `refuse`: rejections to answer with
 * instead of accepting requests.
 */
export async function receiveTraces(
  t: Pick<Test, 'teardown'>,
  { refuse }: { refuse?: (request: IncomingMessage) => Refusal | undefined } = {},
) {
  const spans: SentSpan[] = [];
  const bodies: Buffer[] = [];
  const faults: string[] = [];
  const server = createServer((request, reply) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const refusal = refuse?.(request);
      if (refusal) return void reply.writeHead(refusal.status, refusal.headers).end();
      const sent = Buffer.concat(pieces);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      bodies.push(body);
      const faultsBefore = faults.length;
      try {
        if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf')
          throw new Error('another request');
        spans.push(...decode(readTraces(body)));
      } catch (error) {
        faults.push((error as Error).message);
      }
      reply.writeHead(faults.length === faultsBefore ? 200 : 400, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies, faults };
}

function decode(traces: WireTraces): SentSpan[] {
  return traces.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: String(attributesOf(resource.attributes)['service.name']),
        resource: attributesOf(resource.attributes),
        name: span.name ?? '',
        kind: span.kind,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: hex(span.parentSpanId ?? ''),
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
        attributes: attributesOf(span.attributes ?? []),
        isError: span.status?.code === 2,
      })),
    ),
  );
}

const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex');

function attributesOf(pairs: readonly { key: string; value: object }[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => {
      const [[name, sent] = []] = Object.entries(value);
      return [key, name === 'intValue' ? Number(sent) : (sent as unknown)];
    }),
  );
}
