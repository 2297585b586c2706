/**
 * A span in the protobuf form of OTLP. Written here instead of using OpenTelemetry's SDK, because a span of the SDK
 * costs several times as much and lives as a hundred objects until it is sent. This one leaves the heap when it ends
 * (see docs/contribute/lab/traces.md).
 */

import type { Attributes } from './otlp.ts';
import { attributesOf, bytesOf, field } from './otlp.ts';
import type { SpanBytes } from './span-bytes.ts';

/** Kinds of spans, as the encoded field `Span.kind`. */
const KINDS = { internal: '0\x01', server: '0\x02', client: '0\x03', consumer: '0\x05' } as const;
export type TraceKind = keyof typeof KINDS;

/** W3C trace context: version, trace id, span id, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SAMPLED = 1;
/** Field `Status.code`: an error. */
const STATUS_ERROR = '\x18\x02';

/** Parses a traceparent. Returns `undefined` if it is not valid. `recorded`: its trace is sampled. */
export function readTraceparent(
  text: string | undefined,
): { traceId: string; spanId: string; recorded: boolean } | undefined {
  if (text === undefined || text === '' || !TRACEPARENT.test(text)) return undefined;
  return {
    traceId: text.slice(3, 35),
    spanId: text.slice(36, 52),
    recorded: (parseInt(text.slice(53), 16) & SAMPLED) !== 0,
  };
}

/** Returns the fields by which log lines are found from a trace, for a valid traceparent; without one none. */
export function traceFields(traceparent: string | undefined): { trace_id?: string; span_id?: string } {
  return traceparent === undefined ? {} : { trace_id: traceparent.slice(3, 35), span_id: traceparent.slice(36, 52) };
}

/** Returns the text if it is a valid traceparent of a sampled trace, else `undefined`. */
export function recordedTrace(text: string | undefined): string | undefined {
  return readTraceparent(text)?.recorded ? text : undefined;
}

/** Start of a span. */
export interface TraceStart {
  name: string;
  kind: TraceKind;
  /** Traceparent of the new span itself. */
  traceparent: string;
  /** Traceparent of the parent. Must be valid, as the links must be: `recordedTrace` checks them where they arrive. */
  parent: string | undefined;
  links: readonly string[];
  /** Milliseconds since 1970. */
  startMs: number;
  /** The same by the monotonic clock, which measures the duration: a wall clock may be set back. */
  sinceMs: number;
}

/** Receives spans that have ended. */
export interface TraceRecorder {
  take(trace: Trace): void;
}

/** One span that is being recorded. */
export class Trace implements SpanBytes {
  readonly #recorder: TraceRecorder;
  #ended = false;
  /** Traceparent for the next process. */
  readonly traceparent: string;
  readonly parent: string | undefined;
  readonly links: readonly string[];
  readonly startMs: number;
  readonly sinceMs: number;
  readonly named: string;
  attributes: string;
  status = '';

  constructor(
    recorder: TraceRecorder,
    { name, kind, traceparent, parent, links, startMs, sinceMs }: TraceStart,
    attributes: Attributes,
  ) {
    this.#recorder = recorder;
    this.traceparent = traceparent;
    this.parent = parent;
    this.links = links;
    this.startMs = startMs;
    this.sinceMs = sinceMs;
    this.named = (name === '' ? '' : field('*', bytesOf(name))) + KINDS[kind];
    this.attributes = attributesOf(attributes);
  }

  set(attributes: Attributes): void {
    this.attributes += attributesOf(attributes);
  }

  /** Ends the span; further calls do nothing. `error`: reason of a failure, without data of users. */
  end(error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (error !== undefined)
      this.status = field('z', (error === '' ? '' : field('\x12', bytesOf(error))) + STATUS_ERROR);
    this.#recorder.take(this);
  }
}
