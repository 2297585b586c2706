/**
 * A span as OTLP's JSON writes it. Made here and not by OpenTelemetry's SDK, because a span of that costs several times as much and lives as a hundred
 * objects until it is sent; this one is a text that leaves the heap when it ends (see docs/performance.md).
 */

/** Of a span. Only what is known here belongs into them: no input, no output, no key. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** What a span is of the two sides of a call; the values are OTLP's. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3, consumer: 5 } as const;
export type TraceKind = keyof typeof SPAN_KINDS;

/** Where a span stands: 32 and 16 hexadecimal digits. */
export interface TraceContext {
  traceId: string;
  spanId: string;
}

/** W3C trace context: version, trace id, span id, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SAMPLED = 1;
/** What is the same in JSON, which nearly all texts of spans are. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Flags of OTLP: sampled, and whether the parent was made elsewhere is known. */
const FLAGS = 0x101;
const FLAG_REMOTE = 0x200;
const STATUS_ERROR = 2;

/** Where one stands that was valid where it came in: submissions are read by `recordedTrace`. */
export function contextOf(traceparent: string): TraceContext {
  return { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52) };
}

/** Where a valid traceparent stands, and whether its trace is recorded. */
export function readTraceparent(text: string | undefined): TraceContext & { recorded: boolean } | undefined {
  if (text === undefined || text === '' || !TRACEPARENT.test(text)) return undefined;
  return { ...contextOf(text), recorded: (parseInt(text.slice(53), 16) & SAMPLED) !== 0 };
}

/** A valid traceparent of a trace that is recorded; undefined: anything else. */
export function recordedTrace(text: string | undefined): string | undefined {
  return readTraceparent(text)?.recorded ? text : undefined;
}

/** How a span begins. */
export interface TraceStart {
  name: string;
  kind: TraceKind;
  context: TraceContext;
  parent: TraceContext | undefined;
  links?: readonly TraceContext[];
  /** Milliseconds since 1970. */
  startMs: number;
}

/** One span that is being recorded. */
export class Trace {
  readonly #start: TraceStart;
  readonly #finish: (trace: Trace, error: string | undefined) => void;
  #attributes: string;
  #ended = false;
  /** For whoever goes on with it. */
  readonly traceparent: string;

  /** `finish` is called once, at its end. */
  constructor(start: TraceStart, attributes: Attributes, finish: (trace: Trace, error: string | undefined) => void) {
    this.#start = start;
    this.#finish = finish;
    this.#attributes = attributesText(attributes);
    this.traceparent = `00-${start.context.traceId}-${start.context.spanId}-01`;
  }

  get startMs(): number {
    return this.#start.startMs;
  }

  set(attributes: Attributes): void {
    this.#attributes += (this.#attributes === '' ? '' : ',') + attributesText(attributes);
  }

  /** Ends it, once; `error` says why it failed. Nothing of a user's data belongs into it. */
  end(error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#finish(this, error);
  }

  /** As it is sent. `tookMs`: from its start. */
  toJson(tookMs: number, error: string | undefined): string {
    const { name, kind, context, parent, links = [], startMs } = this.#start;
    const status = error === undefined ? '' : `,"status":{"code":${STATUS_ERROR},"message":${text(error)}}`;
    const linked = links.length === 0 ? '' : `,"links":[${links.map((link) => `{${ids(link)},"flags":${FLAGS | FLAG_REMOTE}}`).join()}]`;
    return `{${ids(context)}${parent ? `,"parentSpanId":"${parent.spanId}"` : ''},"flags":${parent ? FLAGS | FLAG_REMOTE : FLAGS}`
      + `,"name":${text(name)},"kind":${SPAN_KINDS[kind]},"startTimeUnixNano":"${nanoseconds(startMs)}"`
      + `,"endTimeUnixNano":"${nanoseconds(startMs + Math.max(0, tookMs))}","attributes":[${this.#attributes}]${linked}${status}}`;
  }
}

function ids({ traceId, spanId }: TraceContext): string {
  return `"traceId":"${traceId}","spanId":"${spanId}"`;
}

function attributesText(attributes: Attributes): string {
  let all = '';
  for (const key in attributes) all += `${all === '' ? '' : ','}{"key":"${key}","value":${valueText(attributes[key]!)}}`;
  return all;
}

function valueText(value: string | number | boolean): string {
  if (typeof value === 'string') return `{"stringValue":${text(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  return Number.isSafeInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${value}}`;
}

/** A cut may have left half a character, over which a collector would refuse all spans of a request. */
function text(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value.toWellFormed());
}

/** To the microsecond: of more a number of milliseconds since 1970 knows nothing. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}
