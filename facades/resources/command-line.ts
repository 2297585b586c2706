/**
 * A program with its arguments as one text, `dockerArgs`, which is how some clients write what others write as a list.
 * Quotes and backslashes mean what they mean to a shell, and nothing else means anything: variables, operators and
 * patterns are for the shell that the words may name. Not a library: shell-quote replaces variables and takes `#` for a
 * comment, shlex 3.0.0 loses backslashes beside quotes.
 */
import { CoreError } from '@slipway/proto/wire/reason';

/** Blanks, then the pieces of words: '…', "…", one character behind a backslash, plain text. */
const PIECE = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)/y;
/** Inside double quotes a backslash escapes only these characters. A backslash before a line end is removed with it. */
const ESCAPED = /\\(["\\$`\n])/g;
const UNFINISHED =
  'a quote is not closed, or the text ends in a backslash; ' +
  String.raw`write \' or \" for a quote that belongs to a word.`;
/** Matches an object whose first member is one of the two lists. */
const JSON_FORM = /^\s*\{\s*"(?:cmd|entrypoint)"\s*:/;
/** Means the same with and without quotes, to any shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** A parsed `dockerArgs`. */
export interface Command {
  startCommand: string[];
  /** `undefined` if it does not set the entry point. */
  entrypoint: string[] | undefined;
}

/**
 * Reads `dockerArgs`: words, or the form that runpodctl writes when an entry point belongs to it,
 * {"cmd":[…],"entrypoint":[…]}. `field`: its name for the caller. Throws CoreError INVALID_REQUEST as commandOf does.
 */
export function dockerArgsOf(text: string, field = 'dockerArgs'): Command {
  return listsOf(text) ?? { startCommand: commandOf(field, text), entrypoint: undefined };
}

/** Returns the lists of the JSON form. `undefined` for any other text, which is then split into words. */
function listsOf(text: string): Command | undefined {
  if (!JSON_FORM.test(text)) return undefined;
  try {
    const { cmd = [], entrypoint, ...rest } = JSON.parse(text) as Record<string, unknown>;
    if (!isWords(cmd) || (entrypoint !== undefined && !isWords(entrypoint)) || Object.keys(rest).length > 0)
      return undefined;
    return { startCommand: cmd, entrypoint };
  } catch {
    return undefined;
  }
}

function isWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string');
}

/**
 * Splits a text into words. Throws CoreError INVALID_REQUEST if a quote is not closed or the text ends with a
 * backslash.
 */
export function commandOf(field: string, text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const piece = PIECE.exec(text);
    if (!piece) throw new CoreError('INVALID_REQUEST', `${field}: ${UNFINISHED}`);
    const [, blanks, single, double, escaped, plain] = piece;
    if (blanks === undefined)
      word =
        (word ?? '') +
        (single ?? double?.replace(ESCAPED, unescaped) ?? (escaped === '\n' ? '' : escaped) ?? plain ?? '');
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** Returns the words as one text that has the same words again. */
export function commandText(words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');
}

function unescaped(_pair: string, character: string): string {
  return character === '\n' ? '' : character;
}
