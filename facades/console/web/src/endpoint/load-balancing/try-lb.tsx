/**
 * The "Try it" tab of a load-balancing endpoint: sends a request as a client would, and shows the answer as it arrives.
 */
import { useEffect, useRef, useState } from 'react';
import type { EndpointView } from '../../../../views.ts';
import { useSession } from '../../lib/session.tsx';
import { Empty, Panel } from '../../ui/parts.tsx';
import { PlaygroundHint } from '../../ui/playground-hint.tsx';
import { onNextFrame } from '../../ui/text-blocks.tsx';
import { useExample } from '../use-example.ts';
import { LbAnswer } from './lb-answer.tsx';
import type { Exchange } from './lb-exchange.ts';
import { exchange, NOTHING } from './lb-exchange.ts';
import type { LbRequest } from './lb-request.ts';
import { FIRST, faultOf, keepRequest, keptRequest, requestOf } from './lb-request.ts';
import { RequestFields } from './request-fields.tsx';

/** Shows the form and the result. The form is stored for the tab. */
export function TryLb({ view }: { view: EndpointView }) {
  const { id } = view.row;
  const [written, setRequest] = useState(() => keptRequest(id));
  const example = useExample(id);
  const request = written ?? (example ? requestOf(example.input) : FIRST);
  const [fault, setFault] = useState('');
  const { exchanged, isUnderWay, send, end } = useExchange(id);
  const { jobs } = useSession();
  if (jobs === 'none')
    return (
      <Panel title="Try it">
        <Empty title="This key may not send requests.">Sign in with a key that may.</Empty>
      </Panel>
    );
  const write = (next: LbRequest): void => {
    setRequest(next);
    keepRequest(id, next);
  };
  const check = (): void => {
    const wrong = faultOf(request);
    setFault(wrong);
    if (wrong !== '' || isUnderWay) return;
    keepRequest(id, request);
    send(request);
  };
  return (
    <div className="columns">
      <Panel title="Request">
        <div
          className="body"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) check();
          }}
        >
          <RequestFields request={request} onChange={write} isWrong={fault !== ''} onSend={check} />
          {fault !== '' && (
            <p id="fault" role="alert" className="failure">
              {fault}
            </p>
          )}
          <div className="choices">
            <button type="button" className="main" disabled={isUnderWay} onClick={check}>
              Send
            </button>
            <button type="button" disabled={!isUnderWay} onClick={end}>
              Stop
            </button>
            <span className="hint">Sent with the key you signed in with.</span>
          </div>
          <PlaygroundHint id={id} />
        </div>
      </Panel>
      <div>
        {exchanged ? (
          <LbAnswer exchange={exchanged} view={view} />
        ) : (
          <Panel title="Answer">
            <Empty title="Nothing sent yet." />
          </Panel>
        )}
      </div>
    </div>
  );
}

/** Sends one request at a time; leaving the page ends it. */
function useExchange(id: string) {
  const [exchanged, setExchanged] = useState<Exchange>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const isUnderWay = exchanged?.phase === 'waiting' || exchanged?.phase === 'answering';
  const send = (request: LbRequest): void => {
    const mine = (running.current = new AbortController());
    let latest = NOTHING;
    // Chunks may arrive faster than a page can be drawn.
    const show = onNextFrame(() => {
      if (running.current === mine) setExchanged(latest);
    });
    setExchanged(latest);
    void exchange(id, request, mine.signal, (next) => {
      latest = next;
      show();
    });
  };
  return { exchanged, isUnderWay, send, end: () => running.current?.abort() };
}
