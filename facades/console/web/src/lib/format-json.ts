/**
 * Formats JSON text for reading. It is never parsed into values: numbers stay as they were written, and the text may be
 * cut off anywhere.
 */

/** Width of a row of plain values, in characters. A shorter list stays in the line that it began in. */
const ROW = 96;

/** Layout of a list or an object. */
type Form = 'lines' | 'rows' | 'short';

/** Returns the formatted text, cut at about `charactersMax` characters. */
export function formatJson(json: string, charactersMax: number): string {
  let text = '';
  let rowAt = 0;
  /** Whether the next token begins a line, unless it closes an empty list or object. */
  let isBreakDue = false;
  const open: Form[] = [];
  const startLine = (): void => {
    text += `\n${'  '.repeat(open.length)}`;
    rowAt = text.length;
    isBreakDue = false;
  };
  for (let at = 0, end = 0; at < json.length && text.length < charactersMax; at = end) {
    end = endOfToken(json, at);
    const token = json.slice(at, end);
    if (token === '{' || token === '[') {
      if (isBreakDue) startLine();
      text += token;
      open.push(token === '{' ? 'lines' : formOf(json, at));
      isBreakDue = open.at(-1) !== 'short';
    } else if (token === '}' || token === ']') {
      if (open.pop() !== 'short' && !isBreakDue) startLine();
      isBreakDue = false;
      text += token;
    } else if (token === ',') {
      const form = open.at(-1);
      isBreakDue = form === 'lines' || (form === 'rows' && text.length - rowAt > ROW);
      text += isBreakDue ? ',' : ', ';
    } else if (token === ':') text += ': ';
    else if (token.trim() !== '') {
      if (isBreakDue) startLine();
      text += token.trim();
    }
  }
  return text;
}

/** Returns the end of the next token: a mark, a string, or the text between these. */
function endOfToken(json: string, at: number): number {
  if (json[at] === '"') return endOfText(json, at) + 1;
  if (isMark(json[at]!)) return at + 1;
  let end = at + 1;
  while (end < json.length && json[end] !== '"' && !isMark(json[end]!)) end += 1;
  return end;
}

function isMark(character: string): boolean {
  return (
    character === ',' ||
    character === ':' ||
    character === '{' ||
    character === '}' ||
    character === '[' ||
    character === ']'
  );
}

function formOf(json: string, at: number): Form {
  for (let index = at + 1; index < json.length; index += 1) {
    const character = json[index];
    if (character === ']') return index - at < ROW ? 'short' : 'rows';
    if (character === '[' || character === '{') return 'lines';
    if (character === '"') index = endOfText(json, index);
  }
  return 'rows';
}

/** Returns the position of the closing quote of the string that begins at `at`. */
function endOfText(json: string, at: number): number {
  for (let index = at + 1; index < json.length; index += 1) {
    if (json[index] === '\\') index += 1;
    else if (json[index] === '"') return index;
  }
  return json.length;
}

/** Returns the value of a JSON text that is a single string; it may be cut off. `undefined` for any other text. */
export function stringOf(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const isWhole = endOfText(json, 0) < json.length;
  try {
    return JSON.parse(isWhole ? json : `${json.replace(/\\(u[\da-f]{0,3})?$/i, '')}"`) as string;
  } catch {
    return undefined;
  }
}
