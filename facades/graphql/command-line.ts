/**
 * A program with its arguments as one text, which is how GraphQL clients write what REST clients write as a list. Quotes and backslashes mean
 * what they mean to a shell, and nothing else means anything: variables, operators and patterns are for the shell that the words may name.
 * Not a library: shell-quote replaces variables and takes `#` for a comment, shlex 3.0.0 loses backslashes beside quotes.
 */
import { refused } from './core-calls.ts';

/** Blanks, then the pieces of words: '…', "…", one character behind a backslash, plain text. */
const PIECE = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)/y;
/** Inside double quotes a backslash keeps its meaning before these characters only; with a line's end it vanishes. */
const ESCAPED = /\\(["\\$`\n])/g;
/** Means the same with and without quotes, to any shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** The words of a text. Throws GraphQLError: a quote is not closed, or there is nothing behind a last backslash. */
export function commandOf(field: string, text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < text.length) {
    const piece = PIECE.exec(text);
    if (!piece) throw refused(`${field}: a quote is not closed, or the text ends in a backslash; write \\' or \\" for a quote that belongs to a word.`);
    const [, blanks, single, double, escaped, plain] = piece;
    if (blanks === undefined) word = (word ?? '') + (single ?? double?.replace(ESCAPED, unescaped) ?? (escaped === '\n' ? '' : escaped) ?? plain ?? '');
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

/** Words as one text that has the same words again. */
export function commandText(words: readonly string[]): string {
  return words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');
}

function unescaped(_pair: string, character: string): string {
  return character === '\n' ? '' : character;
}
