/**
 * Traces, sent by OTLP. Off unless configured; then the package is not even loaded. Only sampled requests make spans:
 * all others carry no context and cost one comparison.
 */

import { BaseService } from '../lifecycle/service.ts';
import type { Clock, Random } from '../time/clock.ts';
import { systemClock, systemRandom } from '../time/clock.ts';
import type { Attributes } from './otlp.ts';
import type { TraceKind, TraceRecorder, TraceStart } from './trace.ts';
import { readTraceparent, Trace, traceFields } from './trace.ts';
import { TraceSender } from './trace-sender.ts';

/** Most links of one batch. */
const LINKS_MAX = 128;
/**
 * Most running jobs whose traces are remembered. Beyond it the oldest are forgotten, and their outcomes get no span.
 */
const KEPT_MAX = 10_000;
/** Random bytes fetched at a time. */
const ID_BYTES = 8_192;
const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
const NO_LINKS: string[] = [];
/** Offset of the span id in a traceparent. */
const TO_SPAN_ID = 36;

/** How to trace. */
interface TracingOptions {
  /** Name of the process: core, facade or agent. */
  service: string;
  /** Version of its package. */
  version: string;
  /** Base URL of a collector, for instance http://127.0.0.1:4318. */
  endpoint: string;
  /** Share of the traces that begin here to record, 0 to 1. */
  ratio: number;
  /** Default: the machine's own. */
  random?: Pick<Random, 'fraction' | 'bytes'>;
  /** Default: the machine's own. */
  clock?: Clock;
}

type Beginning = Pick<TraceStart, 'name' | 'kind' | 'parent'> & {
  links?: readonly string[];
  startMs?: number | undefined;
};
interface JobName {
  endpointId: string;
  jobId: string;
}
interface Kept {
  endpointId: string;
  traceparent: string;
}

export class Tracing extends BaseService implements TraceRecorder {
  readonly name = 'traces';
  readonly #options: TracingOptions;
  readonly #random: Pick<Random, 'fraction' | 'bytes'>;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #sender: TraceSender | undefined;
  #ids = '';
  #idsAt = 0;

  constructor(options: TracingOptions) {
    super();
    this.#options = options;
    this.#random = options.random ?? systemRandom;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Returns whether a request is recorded: as its traceparent says, without one by the ratio. Call it before making
   * attributes, because most requests are not recorded.
   */
  records(header: string | undefined): boolean {
    if (!this.#sender) return false;
    return readTraceparent(header)?.recorded ?? this.#random.fraction() < this.#options.ratio;
  }

  /**
   * Begins the server span of a recorded request, in the trace of a valid `header`, else in a new trace. `undefined` if
   * tracing has stopped.
   */
  root(name: string, header: string | undefined, attributes: Attributes): Trace | undefined {
    return this.#begin({ name, kind: 'server', parent: readTraceparent(header) && header }, attributes);
  }

  /** Remembers the traces of jobs that begin to run, for `ends`. */
  keep(jobs: readonly { endpointId: string; jobId: string; traceparent?: string | undefined }[]): void {
    for (const { endpointId, jobId, traceparent } of jobs) {
      if (traceparent === undefined) continue;
      this.#kept.set(jobId, { endpointId, traceparent });
      if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value!);
    }
  }

  /** Begins the span of work at the end of jobs: as `batch`, for the remembered jobs. */
  ends(name: string, jobs: readonly JobName[]): Trace | undefined {
    if (this.#kept.size === 0) return undefined;
    return this.batch(name, jobs, (job) => this.#keptOf(job)?.traceparent);
  }

  /** Returns the fields of a remembered job's trace for a log line. */
  fieldsOf(job: JobName): ReturnType<typeof traceFields> {
    return traceFields(this.#keptOf(job)?.traceparent);
  }

  /** Forgets jobs that have ended. */
  forget(jobs: readonly JobName[]): void {
    for (const job of jobs) if (this.#keptOf(job)) this.#kept.delete(job.jobId);
  }

  /** Begins a child span. `undefined` without a recorded trace. */
  child(name: string, kind: TraceKind, traceparent: string | undefined, attributes: Attributes): Trace | undefined {
    if (traceparent === undefined || !this.#sender) return undefined;
    return this.#begin({ name, kind, parent: traceparent }, attributes);
  }

  /** Records a child span that ends now. `startMs`: since 1970. Does nothing without a recorded trace. */
  past(name: string, traceparent: string | undefined, startMs: number, attributes: Attributes): void {
    if (traceparent === undefined) return;
    this.#begin({ name, kind: 'internal', parent: traceparent, startMs }, attributes)?.end();
  }

  /**
   * Begins the span of work for several items: a child in the trace of the first, with a link to each of the others.
   * `startMs`: since 1970; default: now. `undefined` if no item has a trace.
   */
  batch<Item>(
    name: string,
    items: readonly Item[],
    traceOf: (item: Item) => string | undefined,
    startMs?: number,
  ): Trace | undefined {
    if (!this.#sender) return undefined;
    let parent: string | undefined;
    let links = NO_LINKS;
    let traced = 0;
    for (const item of items) {
      const traceparent = traceOf(item);
      if (traceparent === undefined) continue;
      traced += 1;
      if (parent === undefined) parent = traceparent;
      else if (traced === 2) links = [traceparent];
      else if (links.length < LINKS_MAX) links.push(traceparent);
    }
    if (parent === undefined) return undefined;
    return this.#begin(
      { name, kind: 'internal', parent, links, startMs },
      { 'slipway.jobs': items.length, 'slipway.jobs.traced': traced },
    );
  }

  /** Sends a span that ended. */
  take(trace: Trace): void {
    this.#sender?.add(trace, trace.startMs + Math.max(0, this.#clock.monotonicMs() - trace.sinceMs));
  }

  protected override async onStart(): Promise<void> {
    const { endpoint, service, version } = this.#options;
    const instance = this.#random.bytes(16).toString('hex');
    this.#sender = await TraceSender.open({ endpoint, service, version, instance, clock: this.#clock });
  }

  protected override async onStop(): Promise<void> {
    const sender = this.#sender;
    this.#sender = undefined;
    await sender?.close();
  }

  #keptOf({ endpointId, jobId }: JobName): Kept | undefined {
    const kept = this.#kept.get(jobId);
    return kept?.endpointId === endpointId ? kept : undefined;
  }

  #begin({ name, kind, parent, links = NO_LINKS, startMs }: Beginning, attributes: Attributes): Trace | undefined {
    if (!this.#sender) return undefined;
    const nowMs = this.#clock.nowMs();
    const sinceMs = this.#clock.monotonicMs() - (startMs === undefined ? 0 : nowMs - startMs);
    const trace = parent === undefined ? `00-${this.#id(TRACE_ID_DIGITS)}-` : parent.slice(0, TO_SPAN_ID);
    const traceparent = `${trace}${this.#id(SPAN_ID_DIGITS)}-01`;
    return new Trace(this, { name, kind, traceparent, parent, links, startMs: startMs ?? nowMs, sinceMs }, attributes);
  }

  /** Returns random hex digits, which are fetched in bulk. */
  #id(digits: number): string {
    if (this.#idsAt + digits > this.#ids.length) {
      this.#ids = this.#random.bytes(ID_BYTES).toString('hex');
      this.#idsAt = 0;
    }
    this.#idsAt += digits;
    return this.#ids.slice(this.#idsAt - digits, this.#idsAt);
  }
}

/** Returns the tracing of a process; `undefined` if it is off, without an endpoint. `version`: of its package. */
export function tracingOf(
  service: string,
  version: string,
  { otlpEndpoint, tracePercent }: { otlpEndpoint: string; tracePercent?: number },
): Tracing | undefined {
  return otlpEndpoint === ''
    ? undefined
    : new Tracing({
        service: `slipway-${service}`,
        version,
        endpoint: otlpEndpoint,
        ratio: (tracePercent ?? 100) / 100,
      });
}

/** Returns the fault of an OTLP endpoint, as text for the operator; `undefined` if it is valid or empty. */
export function otlpEndpointFault(url: string): string | undefined {
  if (url === '' || (URL.canParse(url) && /^https?:/.test(url))) return undefined;
  return `OTEL_EXPORTER_OTLP_ENDPOINT is ${JSON.stringify(url)}, but must be a URL, for instance http://127.0.0.1:4318`;
}
