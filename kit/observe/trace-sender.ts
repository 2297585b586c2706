/**
 * Sends spans by OTLP over HTTP, as protobuf: joined to one message while they come, outside the heap, so that what
 * waits costs nothing.
 */

import type { Clock, Timer } from '../time/clock.ts';
import { delay, systemClock } from '../time/clock.ts';
import { attributesOf, field, varint } from './otlp.ts';
import { spanBytesMax, writeSpan } from './span-bytes.ts';
import type { Trace } from './trace.ts';

/** Spans wait no longer than this before they are sent. What is sent costs by the request, not by the span. */
const SEND_MS = 4_000;
/** For what still waits when the process ends. */
const FAREWELL_MS = 2_000;
/** Of a request: several hundred spans. A collector takes 4 MiB at least. */
const SENT_BYTES_MAX = 256 * 1024;
/** Requests under way; what comes while a collector takes no more is dropped. */
const SENDING_MAX = 16;
/** `ScopeSpans.scope`. */
const SCOPE = field('\n', field('\n', 'slipway'));
/**
 * What stands before the first span is known when all are: tags and lengths need this much at most, besides resource
 * and scope.
 */
const FRAMES_BYTES_MAX = 12;

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

  private constructor(delegate: Delegate, service: string, clock: Clock) {
    this.#delegate = delegate;
    this.#clock = clock;
    // Attributes have number 9 in a span and 1 in a resource.
    const resource = { 'service.name': service, 'service.namespace': 'slipway' };
    const attributes = Object.entries(resource).map(([key, value]) => `\n${attributesOf({ [key]: value }).slice(1)}`);
    this.#resource = field('\n', attributes.join(''));
    this.#headBytesMax = this.#resource.length + SCOPE.length + FRAMES_BYTES_MAX;
  }

  /**
   * Loads the package that sends. `endpoint`: base URL of a collector; headers, certificates and compression are
   * OTEL_EXPORTER_OTLP_*.
   */
  static async open({
    endpoint,
    service,
    clock = systemClock,
  }: {
    endpoint: string;
    service: string;
    clock?: Clock | undefined;
  }): Promise<TraceSender> {
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
      service,
      clock,
    );
  }

  /** Takes one span. `endMs`: since 1970. */
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
