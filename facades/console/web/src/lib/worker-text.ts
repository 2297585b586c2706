/**
 * What workers wrote, as a page can show it: without a terminal's escapes, and of a line that wrote over itself what a
 * terminal would show last.
 */
import stripAnsi from 'strip-ansi';

/** Of one line, in characters. Nobody reads more, and browsers take long to break it. */
const LINE_MAX = 4_000;

/** A line of it. */
export function plainLine(line: string): string {
  // An escape takes room of its own, and what is cut off is not looked at.
  const plain = stripAnsi(line.slice(0, 4 * LINE_MAX)).replace(/\r+$/, '');
  const last = plain.slice(plain.lastIndexOf('\r') + 1).replaceAll(/[^\P{Cc}\t]/gu, pictureOf);
  return last.length > LINE_MAX || line.length > 4 * LINE_MAX ? `${last.slice(0, LINE_MAX)} …` : last;
}

/** Lines of it. */
export function plainText(text: string): string {
  return text.split('\n').map(plainLine).join('\n');
}

/** Unicode has a picture for each control character of ASCII. */
function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\uFFFD';
}
