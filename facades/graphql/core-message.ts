/**
 * Messages of the contract in the form of Mesh's transport: zero and empty values are absent, and 64-bit numbers are
 * objects.
 */

/** A signed 64-bit number in two halves. */
export interface CoreLong {
  low: number;
  high: number;
}

/** A google.protobuf.Timestamp. */
interface CoreTime {
  seconds?: number | CoreLong;
  nanos?: number;
}

/** A message whose generated type is `Message`. */
export type CoreMessage<Message> = { [Field in keyof Message]?: CoreValue<Message[Field]> };

type CoreValue<Value> = Value extends Date
  ? CoreTime
  : Value extends (infer Item)[]
    ? CoreValue<Item>[]
    : Value extends number
      ? Value | CoreLong
      : Value extends Uint8Array
        ? Value
        : Value extends object
          ? CoreMessage<Value>
          : Value;

/** Returns a number, 0 if it is absent. */
export function numberOf(value: number | CoreLong | undefined): number {
  if (typeof value !== 'object') return value ?? 0;
  return value.high * 2 ** 32 + (value.low >>> 0);
}

/** Returns the wall clock in milliseconds, `undefined` if there is no time. */
export function timeMsOf(time: CoreTime | undefined): number | undefined {
  return time && numberOf(time.seconds) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}

/** Formats a time as ISO 8601 in UTC with milliseconds. `null` without a time. */
export function timeTextOf(time: CoreTime | undefined): string | null {
  const ms = timeMsOf(time);
  return ms === undefined ? null : new Date(ms).toISOString();
}
