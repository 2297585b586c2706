/**
 * Traces by OpenTelemetry, sent by OTLP over HTTP with protobuf. Off unless it is configured: its packages are then not even loaded. Only what is
 * sampled makes spans: everything else carries no context and costs a comparison. OpenTelemetry is what collectors of all makers take.
 */
import type { Attributes, Context, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { systemRandom } from './clock.ts';
import type { Random } from './clock.ts';
import { BaseService } from './service.ts';

/** W3C trace context: version, trace id, span id, flags. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;
/** Spans wait no longer than this before they are sent, and for so many milliseconds at the end. What is sent costs by the request, not by the span. */
const SEND_MS = 4_000;
const FAREWELL_MS = 2_000;
/** Spans of a request, and those that may wait: of more none is kept. A span is about 500 bytes, of which a collector takes 4 MiB at once. */
const SENT_MAX = 2_048;
const WAITING_MAX = 8_192;
/** Links of one batch. */
const LINKS_MAX = 128;
/** Jobs of recorded traces whose end is waited for; of more the first are forgotten, and their outcomes stand in no span. */
const KEPT_MAX = 10_000;

/** What a span is of the two sides of a call. */
export type TraceKind = 'internal' | 'server' | 'consumer' | 'client';

/** How to trace. */
export interface TracingOptions {
  /** Of the process: core, facade or agent. */
  service: string;
  /** Base URL of a collector, for instance http://127.0.0.1:4318. */
  endpoint: string;
  /** Part of the traces that begin here which is recorded, 0 to 1. */
  ratio: number;
  /** Default: the machine's own. */
  random?: Pick<Random, 'fraction'>;
}

/** A valid traceparent of a trace that is recorded; undefined: anything else. */
export function recordedTrace(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  return traceId !== undefined && traceId !== NO_TRACE && spanId !== NO_SPAN && (parseInt(flags!, 16) & SAMPLED) !== 0 ? text : undefined;
}

/** One span that is being recorded. */
export class Trace {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** For whoever goes on with it. */
  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Ends it; `error` says why it failed. Nothing of a user's data belongs into it. */
  end(error?: string): void {
    // 2: SpanStatusCode.ERROR.
    if (error !== undefined) this.#span.setStatus({ code: 2, message: error });
    this.#span.end();
  }
}

type Api = typeof import('@opentelemetry/api');

export class Tracing extends BaseService {
  readonly name = 'traces';
  readonly #options: TracingOptions;
  readonly #random: Pick<Random, 'fraction'>;
  readonly #kept = new Map<string, string>();
  #provider: TracerProvider | undefined;
  #tracer: Tracer | undefined;
  #api: Api | undefined;

  constructor(options: TracingOptions) {
    super();
    this.#options = options;
    this.#random = options.random ?? systemRandom;
  }

  /**
   * Whether a request is recorded: a client's traceparent says so, of others the ratio. Asked before anything of a span is made, because most are not.
   */
  records(header: string | undefined): boolean {
    if (!this.#tracer) return false;
    const [, traceId, spanId, flags] = header === undefined ? [] : TRACEPARENT.exec(header) ?? [];
    if (traceId === undefined || traceId === NO_TRACE || spanId === NO_SPAN) return this.#random.fraction() < this.#options.ratio;
    return (parseInt(flags!, 16) & SAMPLED) !== 0;
  }

  /** A trace that begins here or goes on from a client's traceparent, of a request that is recorded. Undefined: nothing is, any more. */
  root(name: string, header: string | undefined, attributes: Attributes): Trace | undefined {
    if (!this.#tracer || !this.#api) return undefined;
    const parent = this.#contextOf(header) ?? this.#api.ROOT_CONTEXT;
    return new Trace(this.#tracer.startSpan(name, { kind: this.#api.SpanKind.SERVER, attributes }, parent));
  }

  /** Remembers the traces of jobs that begin to run, for what happens at their end. */
  keep(jobs: Iterable<{ endpointId: string; jobId: string; traceparent?: string | undefined }>): void {
    for (const { endpointId, jobId, traceparent } of jobs) {
      if (traceparent === undefined) continue;
      this.#kept.set(`${endpointId}/${jobId}`, traceparent);
      if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value!);
    }
  }

  /** What is done at once at the end of jobs: as `batch`, of those that are remembered. */
  ends(name: string, jobs: readonly { endpointId: string; jobId: string }[]): Trace | undefined {
    if (this.#kept.size === 0) return undefined;
    return this.batch(name, jobs.map(({ endpointId, jobId }) => ({ traceparent: this.#kept.get(`${endpointId}/${jobId}`) })));
  }

  /** A part of a trace. Undefined: there is none, or it is not recorded. */
  child(name: string, kind: TraceKind, traceparent: string | undefined, attributes: Attributes): Trace | undefined {
    if (traceparent === undefined || !this.#tracer || !this.#api || recordedTrace(traceparent) === undefined) return undefined;
    const { SpanKind } = this.#api;
    const kinds = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT };
    return new Trace(this.#tracer.startSpan(name, { kind: kinds[kind], attributes }, this.#contextOf(traceparent)!));
  }

  /** What is done for several at once: a part of the first trace, with a link to each of the others. `startMs`: since 1970; default: now. */
  batch(name: string, items: readonly { traceparent?: string | undefined }[], startMs?: number): Trace | undefined {
    if (!this.#tracer || !items.some(({ traceparent }) => traceparent !== undefined)) return undefined;
    const [first, ...others] = items.flatMap(({ traceparent }) => this.#spanContext(traceparent) ?? []);
    if (!first) return undefined;
    const links = others.slice(0, LINKS_MAX).map((context) => ({ context }));
    const attributes = { 'slipway.jobs': items.length, 'slipway.jobs.traced': others.length + 1 };
    const parent = this.#api!.trace.setSpanContext(this.#api!.ROOT_CONTEXT, first);
    return new Trace(this.#tracer.startSpan(name, { links, attributes, ...(startMs === undefined ? {} : { startTime: startMs }) }, parent));
  }

  protected override async onStart(): Promise<void> {
    const [api, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all([
      import('@opentelemetry/api'), import('@opentelemetry/sdk-trace'), import('@opentelemetry/resources'), import('@opentelemetry/exporter-trace-otlp-proto'),
    ]);
    const exporter = new OTLPTraceExporter({ url: `${this.#options.endpoint.replace(/\/+$/, '')}/v1/traces` });
    this.#provider = new sdk.TracerProvider({
      resource: resourceFromAttributes({ 'service.name': this.#options.service, 'service.namespace': 'slipway' }),
      // What is not recorded never comes here.
      sampler: new sdk.AlwaysOnSampler(),
      spanProcessors: [new sdk.BatchSpanProcessor({
        exporter, scheduledDelayMillis: SEND_MS, exportTimeoutMillis: FAREWELL_MS, maxExportBatchSize: SENT_MAX, maxQueueSize: WAITING_MAX,
      })],
    });
    this.#api = api;
    this.#tracer = this.#provider.getTracer('slipway');
  }

  /** What waits is sent, if the collector takes it; whether it does is nobody's fault here. */
  protected override async onStop(): Promise<void> {
    this.#tracer = undefined;
    await this.#provider?.shutdown().catch(() => undefined);
  }

  #contextOf(traceparent: string | undefined): Context | undefined {
    const context = this.#spanContext(traceparent);
    return context && this.#api!.trace.setSpanContext(this.#api!.ROOT_CONTEXT, context);
  }

  #spanContext(traceparent: string | undefined): SpanContext | undefined {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    if (traceId === undefined || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
    return { traceId, spanId: spanId!, traceFlags: parseInt(flags!, 16) & SAMPLED, isRemote: true };
  }
}

/** Undefined: it is off. */
export function tracingOf(service: string, { otlpEndpoint, tracePercent }: { otlpEndpoint: string; tracePercent?: number }): Tracing | undefined {
  return otlpEndpoint === '' ? undefined : new Tracing({ service: `slipway-${service}`, endpoint: otlpEndpoint, ratio: (tracePercent ?? 100) / 100 });
}

/** Why a setting is no URL to send to; undefined: it is one, or empty. */
export function otlpEndpointFault(url: string): string | undefined {
  if (url === '' || (URL.canParse(url) && /^https?:/.test(url))) return undefined;
  return `OTEL_EXPORTER_OTLP_ENDPOINT is ${JSON.stringify(url)}, but must be a URL, for instance http://127.0.0.1:4318`;
}
