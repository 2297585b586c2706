/**
 * Checks JSON text without building anything of it: linear in its bytes, whatever its shape, and in steps, so that no
 * text keeps a process from its other work. JSON.parse takes a second for some texts of 10 MB, during which no
 * heartbeat leaves. It also finds where the members with given names stand, so that they can travel on byte for byte.
 * It accepts exactly the texts that are UTF-8 and pass JSON.parse.
 */
import { isUtf8 } from 'node:buffer';
import type { JsonKind } from './json-bytes.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
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
  PLAIN,
  PLUS,
  POINT,
  QUOTE,
  ZERO,
} from './json-bytes.ts';
import type { Work } from './sliced-work.ts';

/** Where a value stands in the text: [start, end), without blanks around it. */
type Span = { start: number; end: number };

/** Why a text is not JSON. `at`: the first byte that cannot be; the text's length when it ends too early. */
export interface JsonFault {
  kind: 'utf8' | 'syntax';
  at: number;
}

/** States: what may come next. From TEXT on: in the middle of something that may be long. */
const VALUE = 0;
const FIRST_VALUE = 1;
const KEY = 2;
const FIRST_KEY = 3;
const AFTER_KEY = 4;
const AFTER_VALUE = 5;
const TEXT = 6;
const KEY_TEXT = 7;
const INTEGER = 8;
const FRACTION = 9;
const EXPONENT = 10;

/** Levels of nesting that one number remembers, a bit for each. */
const LEVELS_A_WORD = 32;
/** Bytes between two pauses: half a millisecond's work for the worst of texts. */
const STEP_BYTES = 16 * 1024;

export class JsonScan {
  readonly #text: Buffer;
  readonly #names: readonly string[];
  readonly #spans: (Span | undefined)[] = [];
  /** Where the first value starts. */
  #start = 0;
  #at = 0;
  #utf8Until = 0;
  #state = VALUE;
  #depth = 0;
  #deepest = 0;
  /** Of each open level, the innermost last, whether it is an object. Full words go to `#outer`. */
  #isObject = 0;
  readonly #outer: number[] = [];
  #keyStart = 0;
  /** The member whose value comes next is this one of `#names`; -1: none of them. */
  #wanted = -1;
  #itemStart = 0;
  #firstItem: Span | undefined;
  #values = 0;
  #items = 0;
  #fault: JsonFault | undefined;

  /** `names`: the members of the outermost object to find, plain ASCII. */
  constructor(text: Buffer, names: readonly string[] = []) {
    this.#text = text;
    this.#names = names;
  }

  /** Why the text is not JSON; undefined: nothing is wrong so far. */
  get fault(): JsonFault | undefined {
    return this.#fault;
  }

  /** Deepest nesting of arrays and objects so far, the outermost counting 1. */
  get depth(): number {
    return this.#deepest;
  }

  /** Number of values so far, in all levels; keys do not count. */
  get values(): number {
    return this.#values;
  }

  /** Number of elements or members of the outermost array or object so far. */
  get items(): number {
    return this.#items;
  }

  /** Kind of the whole text, which must be JSON. */
  get kind(): JsonKind {
    return kindAt(this.#text, this.#start);
  }

  /** The bytes of the first element or member's value of the outermost array or object, once it has ended; a view. */
  get firstItem(): Buffer | undefined {
    return this.#firstItem && this.#text.subarray(this.#firstItem.start, this.#firstItem.end);
  }

  /**
   * The bytes of a member of the outermost object, which must have ended: a view, not a copy. The last of its name, as
   * JSON.parse has it.
   */
  member(name: string): Buffer | undefined {
    const span = this.#spans[this.#names.indexOf(name)];
    return span && this.#text.subarray(span.start, span.end);
  }

  /** Goes on for about so many bytes. True: the scan has ended. */
  step(bytes: number): boolean {
    const text = this.#text;
    const until = this.#checkUtf8(this.#at + bytes);
    while (this.#at < until && !this.#fault) this.#token(text[this.#at]!, until);
    if (this.#fault) return true;
    if (this.#at < text.length) return false;
    if (this.#state >= INTEGER) this.#valueEnded();
    if (this.#state !== AFTER_VALUE || this.#depth > 0) this.#refuse();
    return true;
  }

  /** Looks at whole characters up to about a place; the place. */
  #checkUtf8(place: number): number {
    const text = this.#text;
    let until = Math.min(place, text.length);
    // Not between the bytes of one character: at most three follow its first.
    for (let moved = 0; moved < 3 && until < text.length && (text[until]! & 0xc0) === 0x80; moved += 1) until += 1;
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
      if (byte !== COLON) return this.#refuse();
      this.#state = VALUE;
      this.#at += 1;
    } else if (byte === QUOTE) {
      this.#keyStart = this.#at;
      this.#at += 1;
      this.#state = KEY_TEXT;
      this.#characters(until);
    } else if (state === FIRST_KEY && byte === CLOSE_BRACE) this.#close();
    else this.#refuse();
  }

  #space(until: number): void {
    const text = this.#text;
    let at = this.#at;
    while (at < until && isSpace(text[at]!)) at += 1;
    if (at === this.#at) return this.#refuse();
    this.#at = at;
  }

  /** After a value: a comma, or the end of what it is in. */
  #next(byte: number): void {
    if (this.#depth === 0) return this.#refuse();
    const inObject = (this.#isObject & 1) === 1;
    if (byte === COMMA) {
      this.#state = inObject ? KEY : VALUE;
      this.#at += 1;
    } else if (byte === (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) this.#close();
    else this.#refuse();
  }

  #value(byte: number, until: number): void {
    this.#values += 1;
    if (this.#depth === 0) this.#start = this.#at;
    else if (this.#depth === 1) {
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
      if (length === 0) return this.#refuse();
      this.#at += length;
      this.#valueEnded();
    }
  }

  #open(isObject: 0 | 1): void {
    if (this.#depth > 0 && this.#depth % LEVELS_A_WORD === 0) this.#outer.push(this.#isObject);
    this.#isObject = (this.#isObject << 1) | isObject;
    this.#depth += 1;
    if (this.#depth > this.#deepest) this.#deepest = this.#depth;
    this.#state = isObject === 1 ? FIRST_KEY : FIRST_VALUE;
    this.#at += 1;
  }

  #close(): void {
    this.#depth -= 1;
    this.#isObject >>>= 1;
    if (this.#depth > 0 && this.#depth % LEVELS_A_WORD === 0) this.#isObject = this.#outer.pop()!;
    this.#at += 1;
    this.#valueEnded();
  }

  #valueEnded(): void {
    this.#state = AFTER_VALUE;
    if (this.#depth !== 1) return;
    if (this.#items === 1) this.#firstItem = { start: this.#itemStart, end: this.#at };
    if (this.#wanted < 0) return;
    this.#spans[this.#wanted] = { start: this.#itemStart, end: this.#at };
    this.#wanted = -1;
  }

  /** Inside a string, behind its first quote. */
  #characters(until: number): void {
    const text = this.#text;
    const fours = until - 3;
    let at = this.#at;
    for (;;) {
      // Four at a time: most of most texts is in here.
      while (
        at < fours &&
        (PLAIN[text[at]!]! & PLAIN[text[at + 1]!]! & PLAIN[text[at + 2]!]! & PLAIN[text[at + 3]!]!) === 1
      )
        at += 4;
      while (at < until && PLAIN[text[at]!] === 1) at += 1;
      if (at >= until) break;
      if (text[at] === QUOTE) {
        this.#at = at + 1;
        return this.#stringEnded();
      }
      const length = text[at] === BACKSLASH ? escapeLength(text, at) : 0;
      if (length === 0) {
        this.#at = at;
        return this.#refuse();
      }
      at += length;
    }
    this.#at = at;
  }

  #stringEnded(): void {
    if (this.#state === TEXT) return this.#valueEnded();
    this.#state = AFTER_KEY;
    if (this.#depth === 1 && this.#names.length > 0)
      this.#wanted = nameAt(this.#text, this.#names, this.#keyStart + 1, this.#at - 1);
  }

  #number(byte: number, until: number): void {
    const text = this.#text;
    const first = byte === MINUS ? this.#at + 1 : this.#at;
    if (!DIGIT[text[first]!]) return this.#refuse(first);
    this.#at = first + 1;
    this.#state = INTEGER;
    // Nothing but a point or an exponent may follow a leading zero.
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

  /** After the digits of one part of a number. The first digit of the next part, if there is one, is taken along. */
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
    if (!DIGIT[this.#text[firstDigit]!]) return this.#refuse(firstDigit);
    this.#at = firstDigit + 1;
    this.#state = state;
  }

  #refuse(at = this.#at): void {
    this.#fault = { kind: 'syntax', at: Math.min(at, this.#text.length) };
  }
}

/** Scans a text in pieces. */
export function* scanJson(text: Buffer, names?: readonly string[]): Work<JsonScan> {
  const scan = new JsonScan(text, names);
  while (!scan.step(STEP_BYTES)) yield;
  return scan;
}
