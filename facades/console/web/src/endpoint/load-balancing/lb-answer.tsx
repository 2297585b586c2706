/** Shows the response of a load-balancing endpoint as it arrives: always as text, whatever its Content-Type. */
import { useEffect, useState } from 'react';
import type { EndpointView } from '../../../../views.ts';
import { coreText } from '../../lib/core-text.ts';
import { bytes, counted, span } from '../../lib/format.ts';
import { saveFile } from '../../lib/save-file.ts';
import { every, stopwatch } from '../../lib/stopwatch.ts';
import { plainText } from '../../lib/worker-text.ts';
import { Badge, Empty, Panel } from '../../ui/parts.tsx';
import { Tail } from '../../ui/text-blocks.tsx';
import type { AnswerHead, Exchange } from './lb-exchange.ts';
import { SHOWN_MAX, valueOf } from './lb-exchange.ts';

const ENDINGS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'video/mp4': 'mp4',
  'application/zip': 'zip',
  'application/pdf': 'pdf',
};

/** Interval of the running clock, in milliseconds. */
const DRAWN_MS = 250;

/** Shows the panel. */
export function LbAnswer({ exchange, view }: { exchange: Exchange; view: EndpointView }) {
  const { phase, why, head, headMs, tookMs } = exchange;
  const isUnderWay = phase === 'waiting' || phase === 'answering';
  const forMs = useGrowing(tookMs, isUnderWay);
  const aside = (
    <>
      {head && <Badge word={`${head.status} ${head.reason}`.trim()} tone={toneOf(head.status)} />}
      {head && <span title="until the answer began">began after {span(headMs)}</span>}
      <span>
        {isUnderWay ? 'for' : 'took'} {span(forMs)}
      </span>
      {phase === 'answering' && <Badge word="live" tone="busy" />}
    </>
  );
  return (
    <Panel title="Answer" aside={aside}>
      {phase === 'waiting' && <Waiting view={view} />}
      {why !== '' && (
        <p role={phase === 'ended' ? 'status' : 'alert'} className={`body ${phase === 'ended' ? 'hint' : 'failure'}`}>
          {why}
        </p>
      )}
      {head && <Headers head={head} />}
      {head && <Body exchange={exchange} head={head} />}
    </Panel>
  );
}

function Headers({ head: { headers } }: { head: AnswerHead }) {
  return (
    <details className="sent">
      <summary>{counted(headers.length, 'header')}</summary>
      <pre className="viewer" tabIndex={0} role="group" aria-label="Headers of the answer">
        {headers.map(([name, value]) => plainText(`${name}: ${value}`)).join('\n')}
      </pre>
    </details>
  );
}

function Body({ exchange, head }: { exchange: Exchange; head: AnswerHead }) {
  const { phase, isText, blocks, isCut, payload } = exchange;
  const type = valueOf(head, 'content-type');
  const isUnderWay = phase === 'answering';
  if (exchange.bytes === 0)
    return <Empty title={isUnderWay ? 'The body has not started yet.' : 'The answer has no body.'} />;
  const download = (): void =>
    saveFile(payload(), `answer.${ENDINGS[type.split(';', 1)[0]!.trim().toLowerCase()] ?? (isText ? 'txt' : 'bin')}`);
  return (
    <>
      {isText ? (
        <Tail blocks={blocks} label="Body" otherwise="" />
      ) : (
        <Empty title="The body is not text.">{type === '' ? 'It has no Content-Type.' : type}</Empty>
      )}
      <div className="more">
        <button type="button" onClick={download}>
          Download
        </button>
        <span className="hint">
          {bytes(exchange.bytes)}
          {isUnderWay && ' until now'}
          {isCut && `, of which the first ${bytes(SHOWN_MAX)} are shown; “Download” has all of it`}
        </span>
      </div>
    </>
  );
}

/** Explains why nothing has arrived yet. */
function Waiting({ view: { row, workers, summary, nowMs } }: { view: EndpointView }) {
  const starting = workers.filter(({ state, endedMs }) => state === 'INITIALIZING' && endedMs === 0);
  const ready = row.workers.idle + row.workers.running;
  const cause = (): string => {
    if (ready > 0)
      return `${counted(ready, 'worker')} ready: the request is with one, or waits until one takes one more.`;
    if (starting.length === 0 && row.workersMax === 0) return 'No worker may start: “Most workers” is 0.';
    if (starting.length === 0) return 'A cold start: no worker runs, and the request makes one start.';
    const forMs = Math.max(0, nowMs - Math.min(...starting.map(({ createdMs }) => createdMs)));
    return `A cold start: no worker is ready yet, ${counted(starting.length, 'worker')} starting for ${span(forMs)}.`;
  };
  const progress = [...new Set(starting.map(({ reason }) => plainText(reason)).filter((reason) => reason !== ''))];
  return (
    <div className="body">
      <p role="status">
        <strong>Waiting for an answer.</strong>
      </p>
      <p>{cause()}</p>
      {progress.map((text) => (
        <p key={text} className="hint">
          {coreText(text)}
        </p>
      ))}
      {ready === 0 && summary !== '' && <p className="hint">{coreText(summary)}</p>}
    </div>
  );
}

function toneOf(status: number): string {
  if (status < 300) return 'good';
  if (status < 400) return 'calm';
  return status < 500 ? 'warn' : 'bad';
}

/** Returns the elapsed time: the last reported, plus the time since. */
function useGrowing(toldMs: number, isUnderWay: boolean): number {
  const [more, setMore] = useState({ toldMs, ms: 0 });
  useEffect(() => {
    if (!isUnderWay) return undefined;
    const sinceMs = stopwatch();
    return every(DRAWN_MS, () => setMore({ toldMs, ms: sinceMs() }));
  }, [toldMs, isUnderWay]);
  return isUnderWay && more.toldMs === toldMs ? toldMs + more.ms : toldMs;
}
