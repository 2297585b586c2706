/** Shows the live stream of a job. It reads from its own position, so that other readers miss nothing. */
import { useEffect, useState } from 'react';
import { rejectionOf } from '../lib/api.ts';
import { AGAIN_MS, isForGood } from '../lib/feed.ts';
import { counted } from '../lib/format.ts';
import { after } from '../lib/stopwatch.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Badge, Panel } from '../ui/parts.tsx';
import type { Block } from '../ui/text-blocks.tsx';
import { onNextFrame, Tail, wholeText, withMore } from '../ui/text-blocks.tsx';

/** Most characters that are shown, the newest ones: a stream may last for hours. */
const SHOWN_MAX = 200_000;

interface Shown {
  blocks: readonly Block[];
  chunks: number;
  attempt: string;
  /** The job's final state, or GONE if the stream cannot be read. Empty while it is live. */
  state: string;
  /** Why the stream cannot be read. */
  refusal: string;
}

const NOTHING: Shown = { blocks: [], chunks: 0, attempt: '', state: '', refusal: '' };
/** State of a stream that cannot be read. */
export const GONE = 'GONE';

/** Shows the panel. `onEnd` receives the final state, or GONE if the stream cannot be read. */
export function StreamView({
  endpointId,
  jobId,
  onEnd,
}: {
  endpointId: string;
  jobId: string;
  onEnd?: (state: string) => void;
}) {
  const [shown, setShown] = useState(NOTHING);
  useEffect(
    () => followStream(`/api/v2/${endpointId}/stream/${jobId}`, setShown, (status) => onEnd?.(status)),
    // The listener may change with every render, but the stream must not restart.
    [endpointId, jobId],
  );
  const isLive = shown.state === '';
  return (
    <Panel
      title="Stream"
      aside={
        <>
          <span>{counted(shown.chunks, 'chunk')}</span>
          {shown.blocks.length > 0 && <CopyButton text={async () => wholeText(shown.blocks)} spoken="Stream" />}
          {isLive ? <Badge word="live" tone="busy" /> : <Badge word={shown.state} />}
        </>
      }
    >
      <Tail blocks={shown.blocks} label="Stream" otherwise={isLive ? 'Nothing yet.' : shown.refusal || 'No stream.'} />
    </Panel>
  );
}

/** Returns the text of a chunk: strings unchanged, other values on separate lines. */
function outputOf(data: string): string {
  const { output } = JSON.parse(data) as { output?: unknown };
  return typeof output === 'string' ? output : `${JSON.stringify(output)}\n`;
}

/**
 * Follows the stream at `path`. A stream that is rejected for a while is requested again from its beginning: its job
 * runs on, and its end must be shown. Call the result to stop.
 */
function followStream(path: string, onShown: (shown: Shown) => void, onEnd: (state: string) => void): () => void {
  const over = new AbortController();
  let latest = NOTHING;
  let leave = (): void => undefined;
  // Chunks may arrive faster than a page can be drawn.
  const show = onNextFrame(() => onShown(latest));
  const open = (): void => {
    latest = NOTHING;
    const source = new EventSource(`/console${path}`);
    leave = () => source.close();
    source.onmessage = ({ data, lastEventId }) => {
      latest = withChunk(latest, String(data), lastEventId);
      show();
    };
    source.addEventListener('end', ({ data }) => {
      const { status } = JSON.parse(String(data)) as { status: string };
      latest = { ...latest, state: status };
      show();
      source.close();
      onEnd(status);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) void askWhy();
    });
  };
  // EventSource hides why it was rejected; a plain request shows it.
  const askWhy = async (): Promise<void> => {
    const why = await rejectionOf(path, over.signal);
    if (over.signal.aborted) return;
    if (!why || !isForGood(why)) {
      leave = after(AGAIN_MS, open);
      return;
    }
    latest = { ...latest, state: GONE, refusal: why.message };
    show();
    onEnd(GONE);
  };
  open();
  return () => {
    over.abort();
    leave();
  };
}

/** Adds a chunk. Chunks of a lost attempt are void. */
function withChunk(shown: Shown, data: string, eventId: string): Shown {
  const [attempt = ''] = eventId.split('-');
  const kept = shown.attempt === attempt ? shown : NOTHING;
  return { ...kept, attempt, chunks: kept.chunks + 1, blocks: withMore(kept.blocks, outputOf(data), SHOWN_MAX) };
}
