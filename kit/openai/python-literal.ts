/**
 * Reads the text that Python's `str()` makes of a dict: SDKs from 1.7.7 on send a yielded error in that form. It is a
 * parser and never evaluates: one pass over a text of bounded length and depth. Anything that is not a plain literal is
 * rejected.
 */

/** Longest text that is parsed. Error texts of jobs have at most 64 Ki. */
const LENGTH_MAX = 128 * 1024;
const DEPTH_MAX = 16;

const NAMES = new Map<string, unknown>([
  ['None', null],
  ['True', true],
  ['False', false],
  ['nan', null],
  ['inf', null],
]);
const ESCAPES = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
]);
/** Hexadecimal digits after an escape letter. */
const ESCAPE_DIGITS = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);
const CODE_POINT_MAX = 0x10ffff;

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?/y;
const NAME = /-?[A-Za-z]{1,8}/y;
const BLANKS = /[ \t\r\n]*/y;
/** Matches the start of an enum member, before its value: `<HTTPStatus.NOT_FOUND: 404>`. */
const ENUM_HEAD = /<\w{1,64}\.\w{1,64}: /y;
const PLAIN_TEXT = { "'": /[^'\\]*/y, '"': /[^"\\]*/y };

/** The text is not a literal. */
class NotLiteral extends Error {}

/**
 * Parses a dict, list, tuple, string, number, True, False or None. Tuples become lists. Returns `undefined` for
 * anything else.
 */
export function parsePythonLiteral(text: string): unknown {
  if (text.length > LENGTH_MAX) return undefined;
  const reader = new LiteralReader(text);
  try {
    return reader.whole();
  } catch (error) {
    if (error instanceof NotLiteral) return undefined;
    throw error;
  }
}

class LiteralReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): unknown {
    const value = this.#value(0);
    if (this.#next() !== undefined) throw new NotLiteral();
    return value;
  }

  #value(depth: number): unknown {
    if (depth > DEPTH_MAX) throw new NotLiteral();
    switch (this.#next()) {
      case '{':
        return this.#dict(depth);
      case '[':
        return this.#list(']', depth);
      case '(':
        return this.#list(')', depth);
      case "'":
        return this.#string("'");
      case '"':
        return this.#string('"');
      case '<':
        return this.#enumMember(depth);
      default:
        return this.#atom();
    }
  }

  #dict(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#items('}', () => {
      const name = this.#value(depth + 1);
      if (typeof name === 'object' || this.#next() !== ':') throw new NotLiteral();
      this.#at += 1;
      entries.push([String(name), this.#value(depth + 1)]);
    });
    // Object.fromEntries defines members whatever their names, `__proto__` included.
    return Object.fromEntries(entries);
  }

  #list(end: string, depth: number): unknown[] {
    const values: unknown[] = [];
    this.#items(end, () => values.push(this.#value(depth + 1)));
    return values;
  }

  /**
   * Reads the items between the current opening bracket and its end. Commas separate them; the last may have one too.
   */
  #items(end: string, read: () => void): void {
    this.#at += 1;
    while (this.#next() !== end) {
      read();
      if (this.#next() === ',') this.#at += 1;
      else if (this.#next() !== end) throw new NotLiteral();
    }
    this.#at += 1;
  }

  #string(quote: "'" | '"'): string {
    this.#at += 1;
    const parts: string[] = [];
    for (;;) {
      parts.push(this.#match(PLAIN_TEXT[quote])!);
      const mark = this.#text[this.#at];
      if (mark === undefined) throw new NotLiteral();
      this.#at += 1;
      if (mark === quote) return parts.join('');
      parts.push(this.#escaped());
    }
  }

  #escaped(): string {
    const letter = this.#text[this.#at] ?? '';
    this.#at += 1;
    const digits = ESCAPE_DIGITS.get(letter);
    const plain = ESCAPES.get(letter);
    if (plain !== undefined) return plain;
    const hex = digits === undefined ? '' : this.#text.slice(this.#at, this.#at + digits);
    const codePoint = hex.length === digits && /^[0-9a-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : Infinity;
    if (codePoint > CODE_POINT_MAX) throw new NotLiteral();
    this.#at += hex.length;
    return String.fromCodePoint(codePoint);
  }

  #enumMember(depth: number): unknown {
    if (this.#match(ENUM_HEAD) === undefined) throw new NotLiteral();
    const value = this.#value(depth + 1);
    if (this.#next() !== '>') throw new NotLiteral();
    this.#at += 1;
    return value;
  }

  #atom(): unknown {
    const number = this.#match(NUMBER);
    if (number !== undefined) return Number(number);
    const name = this.#match(NAME)?.replace('-', '');
    if (name === undefined || !NAMES.has(name)) throw new NotLiteral();
    return NAMES.get(name);
  }

  /** Returns the next character that is not blank, without consuming it. */
  #next(): string | undefined {
    this.#match(BLANKS);
    return this.#text[this.#at];
  }

  /** Consumes and returns the match of a sticky expression at the current position. */
  #match(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}
