/** Shows the live stream of a job. It reads from its own position, so that other readers miss nothing. */
import { useEffect, useState } from 'react';
import { counted } from '../lib/format.ts';
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
  state: string;
}

const NOTHING: Shown = { blocks: [], chunks: 0, attempt: '', state: '' };

/** Shows the panel. `onEnd` receives the final state. */
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
  useEffect(() => {
    const source = new EventSource(`/console/api/v2/${endpointId}/stream/${jobId}`);
    let latest = NOTHING;
    // Chunks may arrive faster than a page can be drawn.
    const show = onNextFrame(() => setShown(latest));
    source.onmessage = ({ data, lastEventId }) => {
      const [attempt = ''] = lastEventId.split('-');
      // Chunks of a lost attempt are void.
      const kept = latest.attempt === attempt ? latest : NOTHING;
      latest = {
        ...kept,
        attempt,
        chunks: kept.chunks + 1,
        blocks: withMore(kept.blocks, outputOf(String(data)), SHOWN_MAX),
      };
      show();
    };
    source.addEventListener('end', ({ data }) => {
      const { status } = JSON.parse(String(data)) as { status: string };
      latest = { ...latest, state: status };
      show();
      source.close();
      onEnd?.(status);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) {
        latest = { ...latest, state: 'GONE' };
        show();
      }
    });
    return () => source.close();
    // The listener may change with every render, but the stream must not restart.
  }, [endpointId, jobId]);
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
      <Tail blocks={shown.blocks} label="Stream" otherwise={isLive ? 'Nothing yet.' : 'No stream.'} />
    </Panel>
  );
}

/** Returns the text of a chunk: strings unchanged, other values on separate lines. */
function outputOf(data: string): string {
  const { output } = JSON.parse(data) as { output?: unknown };
  return typeof output === 'string' ? output : `${JSON.stringify(output)}\n`;
}
