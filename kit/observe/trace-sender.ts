/**
 * Sends spans as protobuf by OTLP over HTTP. Spans are joined to one message as they arrive, outside the heap, so
 * waiting ones cost nothing.
 */

import { hostname } from 'node:os';
import type { Clock, Timer } from '../time/clock.ts';
import { delay, systemClock } from '../time/clock.ts';
import { attributesOf, field, varint } from './otlp.ts';
import { spanBytesMax, writeSpan } from './span-bytes.ts';
import type { Trace } from './trace.ts';

/** Longest time that spans wait before they are sent, in milliseconds. The cost is per request, not per span. */
const SEND_MS = 4_000;
/** Longest time for sending the remaining spans when the process ends, in milliseconds. */
const FAREWELL_MS = 2_000;
/** Largest request in bytes: several hundred spans. A collector accepts at least 4 MiB. */
const SENT_BYTES_MAX = 256 * 1024;
/** Most concurrent requests. Spans that arrive while a collector accepts no more are dropped. */
const SENDING_MAX = 16;
/** `ScopeSpans.scope`. */
const SCOPE = field('\n', field('\n', 'slipway'));
/**
 * Bytes reserved for the tags and lengths before the first span, besides resource and scope. They can be written only
 * when all spans are known.
 */
const FRAMES_BYTES_MAX = 12;

/** The process that spans are of. */
interface SpanOrigin {
  service: string;
  version: string;
  /** Id of this run of it. */
  instance: string;
}

type Delegate = ReturnType<
  typeof import('@opentelemetry/otlp-exporter-base/node-http').createOtlpHttpExportDelegate<Buffer, undefined>
>;

export class TraceSender {
  readonly #delegate: Delegate;
  readonly #clock: Clock;
  readonly #resource: string;
  readonly #headBytesMax: number;
  #chunk: Buffer | undefined;
  #size = 0;
  #timer: Timer | undefined;

  private constructor(delegate: Delegate, origin: SpanOrigin, clock: Clock) {
    this.#delegate = delegate;
    this.#clock = clock;
    // Attributes are field 9 of a span and field 1 of a resource.
    const resource = {
      'service.name': origin.service,
      'service.namespace': 'slipway',
      // Distinguishes processes of one host, and runs of one process.
      'service.instance.id': origin.instance,
      'service.version': origin.version,
      'host.name': hostname(),
    };
    const attributes = Object.entries(resource).map(([key, value]) => `\n${attributesOf({ [key]: value }).slice(1)}`);
    this.#resource = field('\n', attributes.join(''));
    this.#headBytesMax = this.#resource.length + SCOPE.length + FRAMES_BYTES_MAX;
  }

  /**
   * Loads the package that sends. `endpoint`: base URL of a collector. Headers, certificates and compression are set by
   * OTEL_EXPORTER_OTLP_*.
   */
  static async open({
    endpoint,
    clock = systemClock,
    ...origin
  }: {
    endpoint: string;
    clock?: Clock | undefined;
  } & SpanOrigin): Promise<TraceSender> {
    const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import(
      '@opentelemetry/otlp-exporter-base/node-http'
    );
    const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
    const options = convertLegacyHttpOptions({ url, concurrencyLimit: SENDING_MAX }, 'TRACES', 'v1/traces', {
      'Content-Type': 'application/x-protobuf',
    });
    const serializer = { serializeRequest: (body: Buffer) => body, deserializeResponse: () => undefined };
    const counted = { name: 'span' as const, countItems: () => 1 };
    return new TraceSender(
      createOtlpHttpExportDelegate(options, serializer, 'otlp_http_span_exporter', counted, undefined),
      origin,
      clock,
    );
  }

  /** Adds a span. `endMs`: milliseconds since 1970. */
  add(trace: Trace, endMs: number): void {
    const bytes = spanBytesMax(trace);
    if (this.#chunk && this.#size + bytes > this.#chunk.length) this.#send();
    this.#chunk ??= this.#begin(bytes);
    this.#size = writeSpan(this.#chunk, this.#size, trace, trace.startMs, endMs);
  }

  /** Sends the waiting spans and waits for at most FAREWELL_MS. Never fails: lost spans are accepted. */
  async close(): Promise<void> {
    this.#send();
    await Promise.race([this.#delegate.shutdown(), delay(this.#clock, FAREWELL_MS)]);
  }

  #begin(bytes: number): Buffer {
    this.#size = this.#headBytesMax;
    this.#timer = this.#clock.after(SEND_MS, () => this.#send());
    return Buffer.allocUnsafeSlow(Math.max(SENT_BYTES_MAX, this.#headBytesMax + bytes));
  }

  #send(): void {
    if (!this.#chunk) return;
    this.#timer?.cancel();
    const body = this.#chunk.subarray(this.#headed(this.#chunk), this.#size);
    this.#chunk = undefined;
    this.#delegate.export(body, () => undefined);
  }

  /** Writes the header before the spans. Returns its offset. */
  #headed(chunk: Buffer): number {
    const scopeSpans = SCOPE.length + this.#size - this.#headBytesMax;
    const scopeHead = `\x12${varint(scopeSpans)}${SCOPE}`;
    const resourceSpans = this.#resource.length + scopeHead.length - SCOPE.length + scopeSpans;
    const head = `\n${varint(resourceSpans)}${this.#resource}${scopeHead}`;
    const from = this.#headBytesMax - head.length;
    chunk.write(head, from, 'latin1');
    return from;
  }
}
