/** Sends a job and shows what becomes of it, its stream as it comes. */
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { OutputView } from '../job/output-view.tsx';
import { StreamView } from '../job/stream-view.tsx';
import { sendText } from '../lib/api.ts';
import { useSession } from '../lib/session.tsx';
import { Empty, Panel } from '../ui/parts.tsx';
import { InputForm } from './input-form.tsx';

const EXAMPLE = '{\n  "prompt": "a lighthouse at dusk"\n}';

/** The part. What was written last is there again as long as the tab is. */
export function TryIt({ id }: { id: string }) {
  const kept = `slipway-input-${id}`;
  const [text, setText] = useState(() => sessionStorage.getItem(kept) ?? EXAMPLE);
  const [isForm, setIsForm] = useState(false);
  const [fault, setFault] = useState('');
  const [job, setJob] = useState('');
  const [end, setEnd] = useState('');
  const { jobs } = useSession();
  useEffect(() => sessionStorage.setItem(kept, text.length < 100_000 ? text : ''), [kept, text]);
  if (jobs !== 'write')
    return (
      <Panel title="Try it">
        <Empty title="This key may not send jobs.">Sign in with a key that may.</Empty>
      </Panel>
    );
  const send = async (): Promise<void> => {
    setFault(faultOf(text));
    if (faultOf(text) !== '') return;
    setJob('');
    setEnd('');
    await sendText<{ id: string }>(`/api/v2/${id}/run`, `{"input":${text}}`).then(
      (sent) => setJob(sent.id),
      (error: Error) => setFault(error.message),
    );
  };
  const choice = (
    <>
      <label htmlFor="written-as">as</label>
      <select
        id="written-as"
        value={isForm ? 'form' : 'json'}
        onChange={({ target }) => {
          setIsForm(target.value === 'form');
          setFault('');
        }}
      >
        <option value="json">JSON</option>
        <option value="form">a form</option>
      </select>
    </>
  );
  return (
    <div className="columns">
      <Panel title="Input" aside={choice}>
        <div
          className="body"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
          }}
        >
          {isForm ? (
            <InputForm text={text} onChange={setText} />
          ) : (
            <>
              <label htmlFor="input">The handler’s input, as JSON</label>
              <textarea
                id="input"
                className="code"
                rows={14}
                spellCheck={false}
                value={text}
                onChange={({ target }) => setText(target.value)}
                aria-invalid={fault !== ''}
                aria-describedby={fault === '' ? undefined : 'fault'}
              />
            </>
          )}
          {fault !== '' && (
            <p id="fault" role="alert" className="failure">
              {fault}
            </p>
          )}
          <p>
            <button type="button" className="main" onClick={() => void send()}>
              Send
            </button>{' '}
            <span className="hint">or Ctrl+Enter</span>
          </p>
        </div>
      </Panel>
      <div>
        {job === '' ? (
          <Panel title="Result">
            <Empty title="Nothing was sent yet." />
          </Panel>
        ) : (
          <>
            <p>
              Job{' '}
              <Link href={`/endpoints/${id}/jobs/${job}`}>
                <code>{job}</code>
              </Link>
            </p>
            <StreamView key={job} endpointId={id} jobId={job} onEnd={setEnd} />
            {end !== '' && <OutputView endpointId={id} jobId={job} state={end} />}
          </>
        )}
      </div>
    </div>
  );
}

function faultOf(text: string): string {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? ''
      : 'The input must be a JSON object.';
  } catch (error) {
    return `That is no JSON: ${(error as Error).message}`;
  }
}
