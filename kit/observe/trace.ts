/**
 * A span as OTLP's protobuf has it. Written here and not by OpenTelemetry's SDK, because a span of that costs several
 * times as much and lives as a hundred objects until it is sent; this one leaves the heap when it ends (see
 * docs/contribute/lab/traces.md).
 */

import type { Attributes } from './otlp.ts';
import { attributesOf, bytesOf, field } from './otlp.ts';
import type { SpanBytes } from './span-bytes.ts';

/** What a span is of the two sides of a call; the field `Span.kind` with OTLP's value of it. */
const KINDS = { internal: '0\x01', server: '0\x02', client: '0\x03', consumer: '0\x05' } as const;
export type TraceKind = keyof typeof KINDS;

/** W3C trace context: version, trace id, span id, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const SAMPLED = 1;
/** Field `Status.code`: an error. */
const STATUS_ERROR = '\x18\x02';

/** Where a valid traceparent stands, and whether its trace is recorded. */
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

/** A valid traceparent of a trace that is recorded; undefined: anything else. */
export function recordedTrace(text: string | undefined): string | undefined {
  return readTraceparent(text)?.recorded ? text : undefined;
}

/** How a span begins. */
export interface TraceStart {
  name: string;
  kind: TraceKind;
  /** Its own, new. */
  traceparent: string;
  /** Valid where it came in, as the links are: submissions are read by `recordedTrace`. */
  parent: string | undefined;
  links: readonly string[];
  /** Milliseconds since 1970. */
  startMs: number;
  /** The same by the steady clock, by which the end goes: a wall clock may be set back meanwhile. */
  sinceMs: number;
}

/** Takes a span that ended. */
export interface TraceBook {
  take(trace: Trace): void;
}

/** One span that is being recorded. */
export class Trace implements SpanBytes {
  readonly #book: TraceBook;
  #ended = false;
  /** For whoever goes on with it. */
  readonly traceparent: string;
  readonly parent: string | undefined;
  readonly links: readonly string[];
  readonly startMs: number;
  readonly sinceMs: number;
  readonly named: string;
  attributes: string;
  status = '';

  constructor(
    book: TraceBook,
    { name, kind, traceparent, parent, links, startMs, sinceMs }: TraceStart,
    attributes: Attributes,
  ) {
    this.#book = book;
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

  /** Ends it, once; `error` says why it failed. Nothing of a user's data belongs into it. */
  end(error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (error !== undefined)
      this.status = field('z', (error === '' ? '' : field('\x12', bytesOf(error))) + STATUS_ERROR);
    this.#book.take(this);
  }
}
