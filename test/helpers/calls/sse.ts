/** A reader of server-sent events, for tests. */
import type { Test } from 'tap';
import type { System } from '../system/system.ts';

/** One event. */
export interface SseEvent {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

/** Opens a feed; it is closed when the test ends. */
export async function readEvents(
  t: Test,
  system: Pick<System, 'url' | 'key'>,
  path: string,
  headers: Record<string, string> = {},
) {
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const response = await fetch(system.url + path, {
    headers: { authorization: `Bearer ${system.key}`, accept: 'text/event-stream', ...headers },
    signal: leave.signal,
  });
  const events = eventsOf(response);
  const next = async (): Promise<SseEvent | undefined> => (await events.next()).value ?? undefined;
  return {
    status: response.status,
    headers: response.headers,
    /** The next event; undefined when the feed has ended. */
    next,
    /** All events up to the end of the feed. */
    rest: async (): Promise<SseEvent[]> => {
      const found: SseEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) found.push(event);
      return found;
    },
    /** Goes away. */
    close: (): void => leave.abort(),
  };
}

/** Holds the response until it is read: when a response is collected as garbage, fetch ends its unread body. */
async function* eventsOf(response: Response): AsyncGenerator<SseEvent, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of response.body ?? new ReadableStream<Uint8Array>()) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parse(block);
      if (event.data !== '') yield event;
    }
  }
  return undefined;
}

function parse(block: string): SseEvent {
  const fields = block
    .split('\n')
    .filter((line) => !line.startsWith(':'))
    .map((line) => /^([^:]*): ?(.*)$/.exec(line));
  const of = (name: string): string[] => fields.filter((field) => field?.[1] === name).map((field) => field![2]!);
  return { id: of('id')[0], event: of('event')[0], data: of('data').join('\n') };
}
