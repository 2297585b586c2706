/** Sends spans by OTLP over HTTP, as JSON: joined to one text while they come, outside the heap, so that what waits costs nothing. */
import { delay, systemClock } from './clock.ts';
import type { Clock, Timer } from './clock.ts';

/** Spans wait no longer than this before they are sent. What is sent costs by the request, not by the span. */
const SEND_MS = 4_000;
/** For what still waits when the process ends. */
const FAREWELL_MS = 2_000;
/** Of a request: several hundred spans. A collector takes 4 MiB at least. */
const SENT_BYTES_MAX = 256 * 1024;
/** Requests under way; what comes while a collector takes no more is dropped. */
const SENDING_MAX = 16;
const TAIL = Buffer.from(']}]}]}');

type Delegate = ReturnType<typeof import('@opentelemetry/otlp-exporter-base/node-http').createOtlpHttpExportDelegate<Buffer, undefined>>;

export class TraceSender {
  readonly #delegate: Delegate;
  readonly #clock: Clock;
  readonly #head: string;
  #chunk: Buffer | undefined;
  #size = 0;
  #timer: Timer | undefined;

  private constructor(delegate: Delegate, service: string, clock: Clock) {
    this.#delegate = delegate;
    this.#clock = clock;
    const resource = { 'service.name': service, 'service.namespace': 'slipway' };
    const attributes = Object.entries(resource).map(([key, value]) => ({ key, value: { stringValue: value } }));
    this.#head = `{"resourceSpans":[{"resource":${JSON.stringify({ attributes })},"scopeSpans":[{"scope":{"name":"slipway"},"spans":[`;
  }

  /** Loads the package that sends. `endpoint`: base URL of a collector; headers, certificates and compression are OTEL_EXPORTER_OTLP_*. */
  static async open({ endpoint, service, clock = systemClock }: { endpoint: string; service: string; clock?: Clock | undefined }): Promise<TraceSender> {
    const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import('@opentelemetry/otlp-exporter-base/node-http');
    const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
    const options = convertLegacyHttpOptions({ url, concurrencyLimit: SENDING_MAX }, 'TRACES', 'v1/traces', { 'Content-Type': 'application/json' });
    const serializer = { serializeRequest: (body: Buffer) => body, deserializeResponse: () => undefined };
    const counted = { name: 'span' as const, countItems: () => 1 };
    return new TraceSender(createOtlpHttpExportDelegate(options, serializer, 'otlp_http_json_span_exporter', counted, undefined), service, clock);
  }

  /** Takes one span. */
  add(json: string): void {
    // Of UTF-16 no code unit is longer in UTF-8; the comma is one more.
    const bytesMax = json.length * 3 + 1;
    if (this.#chunk && this.#size + bytesMax + TAIL.length > this.#chunk.length) this.#send();
    if (!this.#chunk) this.#begin(bytesMax);
    else this.#size += this.#chunk.write(',', this.#size, 'latin1');
    this.#size += this.#chunk!.write(json, this.#size);
  }

  /** What waits is sent, if the collector takes it; whether it does is nobody's fault here. */
  async close(): Promise<void> {
    this.#send();
    await Promise.race([this.#delegate.shutdown(), delay(this.#clock, FAREWELL_MS)]);
  }

  #begin(bytesMax: number): void {
    this.#chunk = Buffer.allocUnsafeSlow(Math.max(SENT_BYTES_MAX, this.#head.length + bytesMax + TAIL.length));
    this.#size = this.#chunk.write(this.#head);
    this.#timer = this.#clock.after(SEND_MS, () => this.#send());
  }

  #send(): void {
    if (!this.#chunk) return;
    this.#timer?.cancel();
    const body = this.#chunk.subarray(0, this.#size + TAIL.copy(this.#chunk, this.#size));
    this.#chunk = undefined;
    this.#delegate.export(body, () => undefined);
  }
}
