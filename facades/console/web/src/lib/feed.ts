/**
 * An event feed of the service as a browser follows it: it says when nothing comes, begins anew where a connection is
 * dead, and asks again for one that was refused for a while.
 */
import { DEAD_MS, LATE_MS, LATE_TEXT, SILENT_MS } from '../../../views.ts';
import { ApiError, rejectionOf } from './api.ts';
import { after } from './stopwatch.ts';

/**
 * Pause before a feed that was refused is asked for again, in milliseconds; browsers rest as long before they connect
 * again by themselves.
 */
const AGAIN_MS = 3_000;
const CONNECTING_TEXT = 'Reconnecting …';

/** Who is told. */
export interface FeedListener {
  /** Of what the page shows, as it is now; all is well with it. */
  onView(view: unknown): void;
  /** Of what was before, once for each connection, ahead of its first view. */
  onPast(past: unknown): void;
  /** Why nothing comes, in words; it goes on asking. Empty: the service is heard again. */
  onAway(text: string): void;
  /** Nothing comes any more, for good. */
  onEnded(why: ApiError): void;
}

/** Follows the feed of a page, which `query` names, until the result is called. */
export function follow(query: string, listener: FeedListener): () => void {
  const path = `/api/live${query}`;
  const notice = new Notice(listener);
  let leave = (): void => undefined;
  const open = (): void => {
    leave();
    const source = new EventSource(`/console${path}`);
    const over = new AbortController();
    let stopWaiting = (): void => undefined;
    const wait = (lateMs: number): void => {
      stopWaiting();
      const [stopLate, stopDead] = [after(lateMs, () => notice.silent(LATE_TEXT)), after(DEAD_MS, open)];
      stopWaiting = () => {
        stopLate();
        stopDead();
      };
    };
    leave = () => {
      over.abort();
      stopWaiting();
      source.close();
    };
    const askWhy = async (): Promise<void> => {
      const why = await rejectionOf(path, over.signal);
      if (over.signal.aborted) return;
      if (why && isForGood(why)) return end(why);
      notice.silent(why?.message ?? CONNECTING_TEXT);
      stopWaiting();
      stopWaiting = after(AGAIN_MS, open);
    };
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) return void askWhy();
      notice.silent(CONNECTING_TEXT);
      wait(SILENT_MS);
    };
    subscribe(
      source,
      {
        ...listener,
        onView: (view) => {
          notice.clear();
          listener.onView(view);
        },
        onAway: (text) => notice.away(text),
        onEnded: end,
      },
      () => {
        wait(SILENT_MS);
        notice.received();
      },
    );
    wait(LATE_MS);
  };
  const end = (why: ApiError): void => {
    leave();
    listener.onEnded(why);
  };
  open();
  return () => leave();
}

/**
 * Why nothing comes: what the page finds by itself is over with any word of the service, what that said with its next
 * view only.
 */
class Notice {
  readonly #listener: FeedListener;
  #serviceText = '';
  #ownText = '';

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** The page hears nothing. */
  silent(text: string): void {
    this.#ownText = text;
    this.#listener.onAway(text);
  }

  /** The service is heard, whatever it says. */
  received(): void {
    if (this.#ownText === '') return;
    this.#ownText = '';
    this.#listener.onAway(this.#serviceText);
  }

  /** The service says that a part of it is away. */
  away(text: string): void {
    this.#serviceText = text;
    this.#listener.onAway(text);
  }

  /** All is well. */
  clear(): void {
    this.#serviceText = '';
  }
}

/** `heard`: called ahead of each word of the service, its beats included. */
function subscribe(source: EventSource, { onView, onPast, onAway, onEnded }: FeedListener, onEvent: () => void): void {
  const on = (name: string, handle: (data: unknown) => void): void =>
    source.addEventListener(name, ({ data }: MessageEvent<string>) => {
      onEvent();
      handle(JSON.parse(data));
    });
  on('message', onView);
  on('past', onPast);
  on('beat', () => undefined);
  on('away', (data) => onAway((data as { error: string }).error));
  on('ended', (data) => {
    const { error, code, status } = data as { error: string; code: string; status: number };
    onEnded(new ApiError(status, code, error));
  });
}

/** What is asked is wrong, or the key may not; not that there is too much of it right now. */
function isForGood({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
