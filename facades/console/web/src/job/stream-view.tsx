/** What a job streams, as it comes. It reads from a place of its own, so that nobody else misses anything. */
import { useEffect, useState } from 'react';
import { Badge, Panel } from '../parts.tsx';
import { count } from '../words.ts';

/** The newest that are shown, in characters: a stream may go on for hours. */
const SHOWN_MAX = 200_000;

interface Shown {
  text: string;
  chunks: number;
  attempt: string;
  state: string;
}

const NOTHING: Shown = { text: '', chunks: 0, attempt: '', state: '' };

/** The panel. `onEnd` hears the final state. */
export function StreamView({ endpointId, jobId, onEnd }: { endpointId: string; jobId: string; onEnd?: (state: string) => void }) {
  const [shown, setShown] = useState(NOTHING);
  useEffect(() => {
    const source = new EventSource(`/console/api/v2/${endpointId}/stream/${jobId}`);
    source.onmessage = ({ data, lastEventId }) => setShown((before) => {
      const [attempt = ''] = lastEventId.split('-');
      // What an attempt streamed that was lost is void.
      const kept = before.attempt === attempt ? before : NOTHING;
      return { ...kept, attempt, chunks: kept.chunks + 1, text: (kept.text + outputOf(String(data))).slice(-SHOWN_MAX) };
    });
    source.addEventListener('end', ({ data }) => {
      const { status } = JSON.parse(String(data)) as { status: string };
      setShown((before) => ({ ...before, state: status }));
      source.close();
      onEnd?.(status);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) setShown((before) => ({ ...before, state: 'GONE' }));
    });
    return () => source.close();
    // Its listener may change with every render; the stream must not begin anew.
  }, [endpointId, jobId]);
  const isLive = shown.state === '';
  return (
    <Panel title="Stream" aside={<><span>{count(shown.chunks)} chunks</span>{isLive ? <Badge word="live" tone="busy" /> : <Badge word={shown.state} />}</>}>
      <pre className="viewer" aria-live="off" tabIndex={0}>{shown.text || (isLive ? 'Nothing yet.' : 'It streamed nothing.')}</pre>
    </Panel>
  );
}

/** Texts as they are, one after the other; anything else a line each. */
function outputOf(data: string): string {
  const { output } = JSON.parse(data) as { output?: unknown };
  return typeof output === 'string' ? output : `${JSON.stringify(output)}\n`;
}
