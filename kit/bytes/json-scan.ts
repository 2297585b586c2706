/**
 * Checks JSON text in steps without building values. It takes time linear in the bytes, whatever their shape, and
 * accepts exactly the texts that are UTF-8 and pass JSON.parse. It also finds given members, so that their bytes can be
 * forwarded unchanged. JSON.parse blocks the process for a second on some texts of 10 MB, and no heartbeat leaves
 * meanwhile.
 */
import { isUtf8 } from 'node:buffer';
import type { JsonKind } from './json-bytes.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  characterEnd,
  DIGIT,
  escapeLength,
  isSpace,
  kindAt,
  LETTER_E,
  literalLength,
  MINUS,
  nameAt,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  POINT,
  plainEnd,
  QUOTE,
  ZERO,
} from './json-bytes.ts';
import { JsonNesting } from './json-nesting.ts';
import type { JsonFault, Span } from './json-scan-state.ts';
import {
  AFTER_KEY,
  AFTER_VALUE,
  EXPONENT,
  FIRST_KEY,
  FIRST_VALUE,
  FRACTION,
  INTEGER,
  KEY,
  KEY_TEXT,
  TEXT,
  VALUE,
} from './json-scan-state.ts';
import type { Work } from './sliced-work.ts';

/** Bytes between two pauses: at most half a millisecond of work. */
const STEP_BYTES = 16 * 1024;

export class JsonScan {
  readonly #text: Buffer;
  readonly #names: readonly string[];
  readonly #spans: (Span | undefined)[] = [];
  /** Offset of the outermost value. */
  #start = 0;
  #at = 0;
  #utf8Until = 0;
  #state = VALUE;
  readonly #nesting = new JsonNesting();
  #keyStart = 0;
  /** Index in `#names` of the member whose value comes next; -1 if it was not asked for. */
  #wanted = -1;
  #itemStart = 0;
  #firstItem: Span | undefined;
  #values = 0;
  #items = 0;
  #fault: JsonFault | undefined;

  /** `names`: members of the outermost object to find, in ASCII. */
  constructor(text: Buffer, names: readonly string[] = []) {
    this.#text = text;
    this.#names = names;
  }

  /** Reason why the text is not JSON; `undefined` if nothing is wrong so far. */
  get fault(): JsonFault | undefined {
    return this.#fault;
  }

  /** Deepest nesting of arrays and objects so far. The outermost one counts as 1. */
  get depth(): number {
    return this.#nesting.deepest;
  }

  /** Number of values so far, on all levels. Keys do not count. */
  get values(): number {
    return this.#values;
  }

  /** Number of elements or members of the outermost array or object so far. */
  get items(): number {
    return this.#items;
  }

  /** Kind of the outermost value. The text must be JSON. */
  get kind(): JsonKind {
    return kindAt(this.#text, this.#start);
  }

  /** View of the first element, or the first member's value, of the outermost array or object, once it has ended. */
  get firstItem(): Buffer | undefined {
    return this.#firstItem && this.#text.subarray(this.#firstItem.start, this.#firstItem.end);
  }

  /**
   * Returns a view of the value of a member of the outermost object, which must have ended. Of several with the name
   * the last one counts, as in JSON.parse. `undefined` if there is none.
   */
  member(name: string): Buffer | undefined {
    const span = this.#spans[this.#names.indexOf(name)];
    return span && this.#text.subarray(span.start, span.end);
  }

  /** Scans about `bytes` more bytes. Returns true when the scan has ended, at the end of the text or at a fault. */
  step(bytes: number): boolean {
    const text = this.#text;
    const until = this.#checkUtf8(this.#at + bytes);
    while (this.#at < until && !this.#fault) this.#token(text[this.#at]!, until);
    if (this.#fault) return true;
    if (this.#at < text.length) return false;
    if (this.#state >= INTEGER) this.#valueEnded();
    if (this.#state !== AFTER_VALUE || this.#nesting.depth > 0) this.#reject();
    return true;
  }

  /** Checks the UTF-8 of whole characters up to about `offset`. Returns the offset after the last of them. */
  #checkUtf8(offset: number): number {
    const text = this.#text;
    const until = characterEnd(text, Math.min(offset, text.length));
    if (until <= this.#utf8Until) return until;
    const whole = this.#utf8Until === 0 && until === text.length;
    if (!isUtf8(whole ? text : text.subarray(this.#utf8Until, until))) this.#fault = { kind: 'utf8', at: this.#at };
    this.#utf8Until = until;
    return until;
  }

  #token(byte: number, until: number): void {
    const state = this.#state;
    if (state >= INTEGER) return this.#digits(until);
    if (state >= TEXT) return this.#characters(until);
    if (byte <= 0x20) return this.#space(until);
    if (state === AFTER_VALUE) return this.#next(byte);
    if (state <= FIRST_VALUE) {
      if (state === FIRST_VALUE && byte === CLOSE_BRACKET) return this.#close();
      return this.#value(byte, until);
    }
    if (state === AFTER_KEY) {
      if (byte !== COLON) return this.#reject();
      this.#state = VALUE;
      this.#at += 1;
    } else if (byte === QUOTE) {
      this.#keyStart = this.#at;
      this.#at += 1;
      this.#state = KEY_TEXT;
      this.#characters(until);
    } else if (state === FIRST_KEY && byte === CLOSE_BRACE) this.#close();
    else this.#reject();
  }

  #space(until: number): void {
    const text = this.#text;
    let at = this.#at;
    while (at < until && isSpace(text[at]!)) at += 1;
    if (at === this.#at) return this.#reject();
    this.#at = at;
  }

  /** Reads the comma after a value, or the end of its array or object. */
  #next(byte: number): void {
    if (this.#nesting.depth === 0) return this.#reject();
    const inObject = this.#nesting.inObject;
    if (byte === COMMA) {
      this.#state = inObject ? KEY : VALUE;
      this.#at += 1;
    } else if (byte === (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) this.#close();
    else this.#reject();
  }

  #value(byte: number, until: number): void {
    this.#values += 1;
    if (this.#nesting.depth === 0) this.#start = this.#at;
    else if (this.#nesting.depth === 1) {
      this.#items += 1;
      this.#itemStart = this.#at;
    }
    if (byte === QUOTE) {
      this.#at += 1;
      this.#state = TEXT;
      this.#characters(until);
    } else if (byte === OPEN_BRACE) this.#open(1);
    else if (byte === OPEN_BRACKET) this.#open(0);
    else if (byte === MINUS || DIGIT[byte]) this.#number(byte, until);
    else {
      const length = literalLength(this.#text, this.#at);
      if (length === 0) return this.#reject();
      this.#at += length;
      this.#valueEnded();
    }
  }

  #open(isObject: 0 | 1): void {
    this.#nesting.open(isObject);
    this.#state = isObject === 1 ? FIRST_KEY : FIRST_VALUE;
    this.#at += 1;
  }

  #close(): void {
    this.#nesting.close();
    this.#at += 1;
    this.#valueEnded();
  }

  #valueEnded(): void {
    this.#state = AFTER_VALUE;
    if (this.#nesting.depth !== 1) return;
    if (this.#items === 1) this.#firstItem = { start: this.#itemStart, end: this.#at };
    if (this.#wanted < 0) return;
    this.#spans[this.#wanted] = { start: this.#itemStart, end: this.#at };
    this.#wanted = -1;
  }

  /** Reads the rest of a string, up to `until` at most. */
  #characters(until: number): void {
    const text = this.#text;
    let at = this.#at;
    for (;;) {
      at = plainEnd(text, at, until);
      if (at >= until) break;
      if (text[at] === QUOTE) {
        this.#at = at + 1;
        return this.#stringEnded();
      }
      const length = text[at] === BACKSLASH ? escapeLength(text, at) : 0;
      if (length === 0) {
        this.#at = at;
        return this.#reject();
      }
      at += length;
    }
    this.#at = at;
  }

  #stringEnded(): void {
    if (this.#state === TEXT) return this.#valueEnded();
    this.#state = AFTER_KEY;
    if (this.#nesting.depth === 1 && this.#names.length > 0)
      this.#wanted = nameAt(this.#text, this.#names, this.#keyStart + 1, this.#at - 1);
  }

  #number(byte: number, until: number): void {
    const text = this.#text;
    const first = byte === MINUS ? this.#at + 1 : this.#at;
    if (!DIGIT[text[first]!]) return this.#reject(first);
    this.#at = first + 1;
    this.#state = INTEGER;
    // Only a point or an exponent may follow a leading zero.
    if (text[first] === ZERO) this.#fractionOrEnd();
    else this.#digits(until);
  }

  #digits(until: number): void {
    const text = this.#text;
    let at = this.#at;
    while (at < until && DIGIT[text[at]!] === 1) at += 1;
    this.#at = at;
    if (at < until) this.#fractionOrEnd();
  }

  /** Ends a part of a number. Where another part follows, its first digit is read too. */
  #fractionOrEnd(): void {
    const text = this.#text;
    const byte = text[this.#at];
    if (byte === POINT && this.#state === INTEGER) return this.#part(this.#at + 1, FRACTION);
    if (byte !== undefined && (byte | 0x20) === LETTER_E && this.#state !== EXPONENT) {
      const sign = text[this.#at + 1];
      return this.#part(this.#at + (sign === MINUS || sign === PLUS ? 2 : 1), EXPONENT);
    }
    this.#valueEnded();
  }

  #part(firstDigit: number, state: number): void {
    if (!DIGIT[this.#text[firstDigit]!]) return this.#reject(firstDigit);
    this.#at = firstDigit + 1;
    this.#state = state;
  }

  #reject(at = this.#at): void {
    this.#fault = { kind: 'syntax', at: Math.min(at, this.#text.length) };
  }
}

/** Scans a text, with a pause after every STEP_BYTES. Returns the finished scan. */
export function* scanJson(text: Buffer, names?: readonly string[]): Work<JsonScan> {
  const scan = new JsonScan(text, names);
  while (!scan.step(STEP_BYTES)) yield;
  return scan;
}
