/**
 * Prepares text of workers for a page: terminal escapes are removed, and of a line that overwrites itself the last
 * version is kept, as on a terminal.
 */
import stripAnsi from 'strip-ansi';

/** Longest line, in characters. Browsers take long to wrap longer ones. */
const LINE_MAX = 4_000;

/** Returns one line without escapes. */
export function plainLine(line: string): string {
  // Escapes count too, so more characters are read than shown. The rest is not read.
  const plain = stripAnsi(line.slice(0, 4 * LINE_MAX)).replace(/\r+$/, '');
  const last = plain.slice(plain.lastIndexOf('\r') + 1).replaceAll(/[^\P{Cc}\t]/gu, pictureOf);
  return last.length > LINE_MAX || line.length > 4 * LINE_MAX ? `${last.slice(0, LINE_MAX)} …` : last;
}

/** Returns all lines of a text without escapes. */
export function plainText(text: string): string {
  return text.split('\n').map(plainLine).join('\n');
}

/** Returns a visible symbol for a control character. Unicode has one for each control character of ASCII. */
function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\uFFFD';
}
