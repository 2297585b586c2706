/** Makes foreign text safe for a terminal: names and logs must not move the cursor or hide the text that follows. */
import { stripVTControlCharacters } from 'node:util';

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Replaces control characters with visible escapes, except those in `allowed`. */
export function printable(text: string, allowed = ''): string {
  return text.replace(CONTROL, (character) =>
    allowed.includes(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Cleans the text of a log: keeps line ends and tabs, drops colours, links, cursor moves and carriage returns. */
export function printableLog(text: string): string {
  return printable(stripVTControlCharacters(text).replaceAll('\r', ''), '\n\t');
}

/** Formats a sentence with log lines after it: each on its own line, indented. */
export function printableLines(text: string, indent: string): string {
  return printableLog(text).trimEnd().replaceAll('\n', `\n${indent}`);
}
