/** Framing of server-sent events (WHATWG HTML 9.2). */

/** One event. */
export interface SseEvent {
  /** Event id, which clients send back as Last-Event-ID. */
  id?: string;
  /** Absent: a plain message. */
  event?: string;
  /** Any text, or the bytes of JSON text. */
  data: Buffer | string;
}

/** Comment that keeps proxies from closing an idle connection. */
export const HEARTBEAT = ': keep-alive\n\n';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;
const LINE_END = /\r\n|\n|\r/;

/**
 * Returns the text of an event. Text of several lines becomes several `data:` lines, which clients join again with \n.
 * JSON text becomes one line: its line ends are only between values, where any blank is valid, and a megabyte of line
 * ends must not become a million lines.
 */
export function frameEvent({ id, event, data }: SseEvent): string {
  let text = '';
  if (id !== undefined) text += `id: ${id}\n`;
  if (event !== undefined) text += `event: ${event}\n`;
  if (typeof data !== 'string') return `${text}data: ${onOneLine(data).toString('utf8')}\n\n`;
  for (const line of data.includes('\n') || data.includes('\r') ? data.split(LINE_END) : [data])
    text += `data: ${line}\n`;
  return `${text}\n`;
}

function onOneLine(json: Buffer): Buffer {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  const line = Buffer.from(json);
  for (let at = 0; at < line.length; at += 1)
    if (line[at] === LINE_FEED || line[at] === CARRIAGE_RETURN) line[at] = BLANK;
  return line;
}
