/** The log of a job's attempts, live. Lines are drawn in batches. */
import { useEffect, useState } from 'react';
import { ask } from '../lib/api.ts';
import { clock, counted } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useIsShown } from '../lib/use-live.ts';
import { plainLine } from '../lib/worker-text.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Badge, Empty, Failed, Panel } from '../ui/parts.tsx';
import type { Block } from '../ui/text-blocks.tsx';
import { onNextFrame, Tail, wholeText, withMore } from '../ui/text-blocks.tsx';

/** Most characters that are shown, the newest: a job may write for hours. */
const SHOWN_MAX = 500_000;

interface Line {
  ts?: string;
  line: string;
  attempt: number;
  workerId: string;
  /** True if another job of the same worker may have written it. */
  shared?: boolean;
}

interface LogState {
  blocks: readonly Block[];
  lines: number;
  attempt: number;
  /** Whether some lines may be of other jobs. */
  isShared: boolean;
  missing: string;
  state: string;
  failure: unknown;
}

const NOTHING: LogState = {
  blocks: [],
  lines: 0,
  attempt: 0,
  isShared: false,
  missing: '',
  state: '',
  failure: undefined,
};

/** Shows the panel. */
export function LogView({ path }: { path: string }) {
  const { blocks, lines, isShared, missing, state, failure } = useLog(path);
  if (useSession().manage === 'none') {
    return (
      <Panel title="Logs">
        <Empty title="This key may not read what workers write.">Sign in with a key that may.</Empty>
      </Panel>
    );
  }
  if (failure !== undefined)
    return (
      <Panel title="Logs">
        <Failed error={failure} />
      </Panel>
    );
  const isLive = state === '';
  return (
    <Panel
      title="Logs"
      aside={
        <>
          <span>{counted(lines, 'line')}</span>
          {blocks.length > 0 && <CopyButton text={async () => wholeText(blocks)} spoken="Logs" />}
          {isLive ? <Badge word="live" tone="busy" /> : <Badge word={state} />}
        </>
      }
    >
      {missing !== '' && (
        <p className="away" role="status">
          Some lines cannot be read: {missing}
        </p>
      )}
      <Tail blocks={blocks} label="Logs" otherwise={isLive ? 'Nothing yet.' : 'No log is kept.'} />
      {isShared && <p className="more hint">Lines with ~ may be of other jobs that the worker ran at the same time.</p>}
      {(blocks[0]?.key ?? 0) > 0 && (
        <p className="more hint">Only the newest lines. slipway jobs logs shows all of them.</p>
      )}
    </Panel>
  );
}

function useLog(path: string): LogState {
  const [shown, setShown] = useState(NOTHING);
  const isShown = useIsShown();
  useEffect(() => {
    if (!isShown) return undefined;
    const source = new EventSource(`/console${path}`);
    let latest = NOTHING;
    // Renders once for all lines since the last frame.
    const show = onNextFrame(() => setShown(latest));
    const say = (part: Partial<LogState>): void => {
      latest = { ...latest, ...part };
      show();
    };
    source.onmessage = ({ data }) => {
      const line = JSON.parse(String(data)) as Line;
      say({
        lines: latest.lines + 1,
        attempt: line.attempt,
        isShared: latest.isShared || line.shared === true,
        blocks: withMore(latest.blocks, textOf(line, latest.attempt), SHOWN_MAX),
      });
    };
    source.addEventListener('missing', ({ data }) =>
      say({ missing: (JSON.parse(String(data)) as { missing: string }).missing }),
    );
    source.addEventListener('end', ({ data }) => {
      say({ state: (JSON.parse(String(data)) as { status: string }).status });
      source.close();
    });
    source.addEventListener('error', () => {
      // EventSource hides why it was rejected; a plain request shows it.
      if (source.readyState === EventSource.CLOSED)
        ask('GET', `${path}?limit=1`).catch((failure: unknown) => say({ failure }));
    });
    return () => source.close();
  }, [path, isShown]);
  return shown;
}

/** Returns a line of the log: a heading for each new attempt, and a mark for lines that may be another job's. */
function textOf({ ts, line, attempt, workerId, shared }: Line, before: number): string {
  const head = attempt === before ? '' : `── attempt ${attempt} on worker ${workerId} ──\n`;
  return `${head}${ts === undefined ? '' : clock(Date.parse(ts))}${shared ? ' ~ ' : '   '}${plainLine(line)}\n`;
}
