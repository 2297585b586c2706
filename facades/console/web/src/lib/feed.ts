/**
 * Follows an event feed of the service in a browser. It reports silence, reconnects dead connections, and retries a
 * feed that was rejected for a while.
 */
import { DEAD_MS, LATE_MS, LATE_TEXT, SILENT_MS } from '../../../views.ts';
import { ApiError, rejectionOf } from './api.ts';
import { after } from './stopwatch.ts';

/**
 * Pause before a rejected feed is requested again, in milliseconds. Browsers wait as long before they reconnect by
 * themselves.
 */
export const AGAIN_MS = 3_000;
const CONNECTING_TEXT = 'Reconnecting …';

/** Callbacks of a feed. */
interface FeedListener {
  /** Called with the current view. The service is available. */
  onView(view: unknown): void;
  /** Called with the history, once per connection, before its first view. */
  onPast(past: unknown): void;
  /** Called with the reason why no events arrive, while the feed keeps trying. Empty: events arrive again. */
  onAway(text: string): void;
  /** Called when the feed has ended for good. */
  onEnded(why: ApiError): void;
}

/** Follows the feed of the page that `query` names. Call the result to stop. */
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
 * Tracks why no events arrive. A reason that the page found itself ends with any event of the service. A reason that
 * the service sent ends only with its next view.
 */
class Notice {
  readonly #listener: FeedListener;
  #serviceText = '';
  #ownText = '';

  constructor(listener: FeedListener) {
    this.#listener = listener;
  }

  /** Records that the page receives nothing. */
  silent(text: string): void {
    this.#ownText = text;
    this.#listener.onAway(text);
  }

  /** Records that any event arrived. */
  received(): void {
    if (this.#ownText === '') return;
    this.#ownText = '';
    this.#listener.onAway(this.#serviceText);
  }

  /** Records that the service reports a part of it as unavailable. */
  away(text: string): void {
    this.#serviceText = text;
    this.#listener.onAway(text);
  }

  /** Clears the service's reason. */
  clear(): void {
    this.#serviceText = '';
  }
}

/** Subscribes to the events of a source. `onEvent` is called before each event, heartbeats included. */
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

/** Returns whether a retry cannot help: the request is invalid or the key lacks the permission. 429 does not count. */
export function isForGood({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
