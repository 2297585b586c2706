/** Writes the `Span` of OTLP into a buffer. Field numbers: opentelemetry/proto/trace/v1. */

/** A span that has ended. */
export interface SpanBytes {
  /** Traceparent of the span itself. All traceparents here must be valid. */
  traceparent: string;
  parent: string | undefined;
  links: readonly string[];
  /** Encoded fields `name` and `kind`, as strings of bytes; see otlp.ts. */
  named: string;
  attributes: string;
  status: string;
}

/** Offsets of the ids in a traceparent: 00-<32 digits>-<16 digits>-01. */
const TRACE_AT = 3;
const TRACE_BYTES = 16;
const SPAN_AT = 36;
const SPAN_BYTES = 8;
/** Size of a link: both ids, and flags. */
const LINK_BYTES = 2 + TRACE_BYTES + 2 + SPAN_BYTES + 5;
/** Size of the fixed fields: both ids, two times, and flags. */
const FIXED_BYTES = 2 + TRACE_BYTES + 2 + SPAN_BYTES + 2 * 9 + 6;
/** Largest size of the tag and length of a span. */
const FRAME_BYTES_MAX = 6;
/** Flags of OTLP: sampled, and has-is-remote, which says that FLAG_REMOTE is valid. */
const FLAGS = 0x101;
const FLAG_REMOTE = 0x200;
const WORD = 2 ** 32;
const NS_PER_US = 1_000;

/** Values of hexadecimal digits, by their character code. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => parseInt(String.fromCharCode(code), 16) || 0);

/** Returns an upper bound of the bytes of a span, with its frame. */
export function spanBytesMax(span: SpanBytes): number {
  return FRAME_BYTES_MAX + lengthOf(span);
}

function lengthOf({ parent, links, named, attributes, status }: SpanBytes): number {
  return (
    FIXED_BYTES +
    (parent === undefined ? 0 : 2 + SPAN_BYTES) +
    named.length +
    attributes.length +
    links.length * (2 + LINK_BYTES) +
    status.length
  );
}

/** Writes a span as one of `ScopeSpans.spans`. Times are milliseconds since 1970. Returns the offset after it. */
export function writeSpan(to: Buffer, from: number, span: SpanBytes, startMs: number, endMs: number): number {
  const { traceparent, parent, links, named, attributes, status } = span;
  let at = writeVarint(to, tag(to, from, 0x12), lengthOf(span));
  at = writeIds(to, at, traceparent);
  if (parent !== undefined) at = writeSpanId(to, at, 0x22, parent);
  at += to.write(named, at, 'latin1');
  at = writeTime(to, tag(to, at, 0x39), startMs);
  at = writeTime(to, tag(to, at, 0x41), endMs);
  at += to.write(attributes, at, 'latin1');
  for (const link of links) {
    at = tag(to, tag(to, at, 0x6a), LINK_BYTES);
    at = writeIds(to, at, link);
    at = writeWord(to, tag(to, at, 0x35), FLAGS | FLAG_REMOTE);
  }
  if (status !== '') at += to.write(status, at, 'latin1');
  return writeWord(to, tag(to, tag(to, at, 0x85), 0x01), parent === undefined ? FLAGS : FLAGS | FLAG_REMOTE);
}

function tag(to: Buffer, at: number, byte: number): number {
  to[at] = byte;
  return at + 1;
}

function writeIds(to: Buffer, from: number, traceparent: string): number {
  const at = tag(to, tag(to, from, 0x0a), TRACE_BYTES);
  return writeSpanId(to, writeDigits(to, at, traceparent, TRACE_AT, TRACE_BYTES), 0x12, traceparent);
}

function writeSpanId(to: Buffer, at: number, name: number, traceparent: string): number {
  return writeDigits(to, tag(to, tag(to, at, name), SPAN_BYTES), traceparent, SPAN_AT, SPAN_BYTES);
}

function writeDigits(to: Buffer, at: number, text: string, from: number, bytes: number): number {
  for (let i = 0; i < bytes; i += 1) {
    to[at + i] = (DIGITS[text.charCodeAt(from + 2 * i)]! << 4) | DIGITS[text.charCodeAt(from + 2 * i + 1)]!;
  }
  return at + bytes;
}

function writeVarint(to: Buffer, from: number, value: number): number {
  let at = from;
  let left = value;
  for (; left > 0x7f; left >>>= 7) at = tag(to, at, (left & 0x7f) | 0x80);
  return tag(to, at, left);
}

function writeWord(to: Buffer, at: number, word: number): number {
  to[at] = word;
  to[at + 1] = word >>> 8;
  to[at + 2] = word >>> 16;
  to[at + 3] = word >>> 24;
  return at + 4;
}

/**
 * Writes a time in nanoseconds, which do not fit into a number. Input: milliseconds since 1970, exact to a microsecond.
 */
function writeTime(to: Buffer, at: number, ms: number): number {
  const us = Math.round(ms * 1_000);
  const low = (us % WORD) * NS_PER_US;
  const high = Math.floor(us / WORD) * NS_PER_US + Math.floor(low / WORD);
  return writeWord(to, writeWord(to, at, low % WORD), high);
}
