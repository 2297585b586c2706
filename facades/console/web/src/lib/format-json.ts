/**
 * JSON text laid out to be read. It is never made into values: numbers stay as they were written, and the text may end
 * anywhere.
 */

/**
 * Lists of plain values stand in rows of about so many characters, and in the line that they began in when they have
 * fewer.
 */
const ROW = 96;

/** How a list or an object is written. */
type Form = 'lines' | 'rows' | 'short';

/** Laid out, as far as that comes to about so many characters. */
export function formatJson(json: string, charactersMax: number): string {
  let text = '';
  let rowAt = 0;
  /** A line is to begin before the next token, unless that closes what is empty. */
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

/** Where the next token ends: a mark, a text, or what stands between these. */
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

/** Of the text that begins there, its closing quote. */
function endOfText(json: string, at: number): number {
  for (let index = at + 1; index < json.length; index += 1) {
    if (json[index] === '\\') index += 1;
    else if (json[index] === '"') return index;
  }
  return json.length;
}

/** A JSON text that is a string and nothing else, as it reads; it may be cut off. Undefined: it is something else. */
export function stringOf(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const isWhole = endOfText(json, 0) < json.length;
  try {
    return JSON.parse(isWhole ? json : `${json.replace(/\\(u[\da-f]{0,3})?$/i, '')}"`) as string;
  } catch {
    return undefined;
  }
}
