/** Framing of server-sent events (WHATWG HTML 9.2). */

/** One event. */
export interface SseEvent {
  /** For Last-Event-ID. */
  id?: string;
  /** Absent: a plain message. */
  event?: string;
  /** Any text. */
  data: Buffer | string;
}

/** A line that clients ignore; keeps proxies from closing a silent connection. */
export const HEARTBEAT = ': keep-alive\n\n';

const LINE_END = /\r\n|\n|\r/;

/** The text of an event. Data of several lines becomes several `data:` lines, which clients join again with \n. */
export function frameEvent({ id, event, data }: SseEvent): string {
  let text = '';
  if (id !== undefined) text += `id: ${id}\n`;
  if (event !== undefined) text += `event: ${event}\n`;
  const whole = typeof data === 'string' ? data : data.toString('utf8');
  for (const line of whole.includes('\n') || whole.includes('\r') ? whole.split(LINE_END) : [whole]) text += `data: ${line}\n`;
  return `${text}\n`;
}
