/** An event feed of the service as a browser follows it: it says when nothing comes, and asks again for one that was refused for a while. */
import { LATE_MS, LATE_TEXT } from '../../views.ts';
import { ApiError, refusalOf } from './api.ts';
import { after } from './stopwatch.ts';

/** Pause before a feed that was refused is asked for again, in milliseconds; browsers rest as long before they connect again by themselves. */
const AGAIN_MS = 3_000;
const CONNECTING_TEXT = 'Connecting again …';

/** Who is told. */
export interface FeedListener {
  /** Of what the page shows, as it is now. */
  onView(view: unknown): void;
  /** Of what was before, once, ahead of the first view. */
  onPast(past: unknown): void;
  /** Why nothing comes, in words; it goes on asking, and all is well with the next view. */
  onAway(text: string): void;
  /** Nothing comes any more, for good. */
  onEnded(why: ApiError): void;
}

/** Follows the feed of a page, which `query` names, until the result is called. */
export function follow(query: string, listener: FeedListener): () => void {
  const path = `/api/live${query}`;
  const over = new AbortController();
  let source: EventSource;
  let stopWaiting = (): void => undefined;
  const open = (): void => {
    source = new EventSource(`/console${path}`);
    // Also of one that does not even begin.
    stopWaiting = after(LATE_MS, () => listener.onAway(LATE_TEXT));
    hear(source, listener, () => stopWaiting());
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) void askWhy();
      else listener.onAway(CONNECTING_TEXT);
    };
  };
  const askWhy = async (): Promise<void> => {
    const why = await refusalOf(path, over.signal);
    stopWaiting();
    if (over.signal.aborted) return;
    if (why && isForGood(why)) return listener.onEnded(why);
    listener.onAway(why?.message ?? CONNECTING_TEXT);
    stopWaiting = after(AGAIN_MS, open);
  };
  open();
  return () => {
    over.abort();
    stopWaiting();
    source.close();
  };
}

/** `heard`: called ahead of each word of the service. */
function hear(source: EventSource, { onView, onPast, onAway, onEnded }: FeedListener, heard: () => void): void {
  const on = (name: string, tell: (told: unknown) => void): void => (
    source.addEventListener(name, ({ data }: MessageEvent<string>) => { heard(); tell(JSON.parse(data)); })
  );
  on('message', onView);
  on('past', onPast);
  on('away', (told) => onAway((told as { error: string }).error));
  on('ended', (told) => {
    source.close();
    const { error, code, status } = told as { error: string; code: string; status: number };
    onEnded(new ApiError(status, code, error));
  });
}

/** What is asked is wrong, or the key may not; not that there is too much of it right now. */
function isForGood({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
