/** What workers wrote while they ran a job's attempts, live. Lines are shown as they come, many at a time. */
import { useEffect, useRef, useState } from 'react';
import { ask } from '../api.ts';
import { useIsShown } from '../live.ts';
import { Badge, Empty, Failed, Panel } from '../parts.tsx';
import { useSession } from '../session.tsx';
import { clock, count } from '../words.ts';

/** The newest that are shown: a job may write for hours. */
const LINES_MAX = 5_000;

interface Line {
  ts?: string;
  line: string;
  attempt: number;
  workerId: string;
  /** Other jobs of its worker may have written it. */
  shared?: boolean;
}

interface Told {
  lines: readonly Line[];
  total: number;
  missing: string;
  state: string;
  failure: unknown;
}

const NOTHING: Told = { lines: [], total: 0, missing: '', state: '', failure: undefined };

/** The panel. */
export function LogView({ path }: { path: string }) {
  const told = useLog(path);
  const end = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [told.lines]);
  if (useSession().manage === 'none') {
    return <Panel title="Logs"><Empty title="This key may not read what workers write.">Sign in with a key that may.</Empty></Panel>;
  }
  if (told.failure !== undefined) return <Panel title="Logs"><Failed error={told.failure} /></Panel>;
  const isLive = told.state === '';
  return (
    <Panel title="Logs" aside={<><span>{count(told.total)} lines</span>{isLive ? <Badge word="live" tone="busy" /> : <Badge word={told.state} />}</>}>
      {told.missing !== '' && <p className="away" role="status">Some lines cannot be read: {told.missing}</p>}
      <pre
        className="viewer log" ref={end} tabIndex={0} aria-label="Logs" aria-live="off"
        onScroll={({ currentTarget: seen }) => { isAtEnd.current = seen.scrollHeight - seen.scrollTop - seen.clientHeight < 40; }}
      >{textOf(told.lines) || (isLive ? 'Nothing yet.' : 'They wrote nothing that is kept.')}</pre>
      {told.total > told.lines.length && <p className="more hint">the newest {count(LINES_MAX)} lines; slipway jobs logs has all of them</p>}
    </Panel>
  );
}

function useLog(path: string): Told {
  const [told, setTold] = useState(NOTHING);
  const isShown = useIsShown();
  useEffect(() => {
    if (!isShown) return undefined;
    setTold(NOTHING);
    const source = new EventSource(`/console${path}`);
    let fresh: Line[] = [];
    // One rendering for all lines that came since the last.
    const flush = (): void => {
      const lines = fresh;
      fresh = [];
      if (lines.length > 0) setTold((before) => ({ ...before, total: before.total + lines.length, lines: [...before.lines, ...lines].slice(-LINES_MAX) }));
    };
    const say = (part: Partial<Told>): void => { flush(); setTold((before) => ({ ...before, ...part })); };
    source.onmessage = ({ data }) => {
      if (fresh.push(JSON.parse(String(data)) as Line) === 1) requestAnimationFrame(flush);
    };
    source.addEventListener('missing', ({ data }) => say({ missing: (JSON.parse(String(data)) as { missing: string }).missing }));
    source.addEventListener('end', ({ data }) => {
      say({ state: (JSON.parse(String(data)) as { status: string }).status });
      source.close();
    });
    source.addEventListener('error', () => {
      // An event feed does not say why it was refused; a plain request does.
      if (source.readyState === EventSource.CLOSED) ask('GET', `${path}?limit=1`).catch((failure: unknown) => say({ failure }));
    });
    return () => source.close();
  }, [path, isShown]);
  return told;
}

/** A head for each attempt; what may be another job's is marked. */
function textOf(lines: readonly Line[]): string {
  return lines.map(({ ts, line, attempt, workerId, shared }, index) => {
    const head = attempt === lines[index - 1]?.attempt ? '' : `── attempt ${attempt} on worker ${workerId} ──\n`;
    return `${head}${ts === undefined ? '' : clock(Date.parse(ts))}${shared ? ' ~ ' : '   '}${line}`;
  }).join('\n');
}
