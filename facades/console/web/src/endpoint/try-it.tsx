/** The "Try it" tab of a queue endpoint: sends a job, and shows its stream and its output. */
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { ExampleView } from '../../../views-of-settings.ts';
import { OutputView } from '../job/output-view.tsx';
import { StreamView } from '../job/stream-view.tsx';
import { sendText } from '../lib/api.ts';
import { formatJson } from '../lib/format-json.ts';
import { faultOf } from '../lib/input-fault.ts';
import { useSession } from '../lib/session.tsx';
import { Empty, Panel } from '../ui/parts.tsx';
import { PlaygroundHint } from '../ui/playground-hint.tsx';
import { InputForm } from './input-form.tsx';
import { useExample } from './use-example.ts';

/** Shows the form and the result. The form is stored for the tab. */
export function TryIt({ id }: { id: string }) {
  const kept = `slipway-input-${id}`;
  const example = useExample(id);
  const [written, setText] = useState(() => sessionStorage.getItem(kept));
  const text = written ?? (example ? formatJson(example.input, Infinity) : '');
  const [isForm, setIsForm] = useState(false);
  const [fault, setFault] = useState('');
  const [job, setJob] = useState('');
  const [end, setEnd] = useState('');
  const { jobs } = useSession();
  useEffect(() => {
    if (written !== null) sessionStorage.setItem(kept, written.length < 100_000 ? written : '');
  }, [kept, written]);
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
  const choose = (form: boolean): void => {
    setIsForm(form);
    setFault('');
  };
  return (
    <div className="columns">
      <Panel title="Input" aside={<FormatChoice isForm={isForm} onChange={choose} />}>
        <div
          className="body"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
          }}
        >
          {isForm ? (
            <InputForm text={text} onChange={setText} />
          ) : (
            <InputText text={text} onChange={setText} isWrong={fault !== ''} />
          )}
          {written === null && <ExampleNote id={id} example={example} />}
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
          <PlaygroundHint id={id} />
        </div>
      </Panel>
      <div>
        <Result id={id} job={job} end={end} onEnd={setEnd} />
      </div>
    </div>
  );
}

/** Says where the shown input comes from, if it is of a job. */
function ExampleNote({ id, example }: { id: string; example: ExampleView | undefined }) {
  if (!example || example.jobId === '') return null;
  return (
    <p className="hint">
      The input of <Link href={`/endpoints/${id}/jobs/${example.jobId}`}>the last completed job</Link>.
      {example.isCut && ' Its long texts are shortened here: replace texts that end with “…”.'}
    </p>
  );
}

/** Chooses between writing the input as JSON and filling in a form. */
function FormatChoice({ isForm, onChange }: { isForm: boolean; onChange: (isForm: boolean) => void }) {
  return (
    <>
      <label htmlFor="written-as">as</label>
      <select
        id="written-as"
        value={isForm ? 'form' : 'json'}
        onChange={({ target }) => onChange(target.value === 'form')}
      >
        <option value="json">JSON</option>
        <option value="form">a form</option>
      </select>
    </>
  );
}

function InputText({ text, onChange, isWrong }: { text: string; onChange: (text: string) => void; isWrong: boolean }) {
  return (
    <>
      <label htmlFor="input">The handler’s input, as JSON</label>
      <textarea
        id="input"
        className="code"
        rows={14}
        spellCheck={false}
        value={text}
        onChange={({ target }) => onChange(target.value)}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? 'fault' : undefined}
      />
    </>
  );
}

/** Shows the stream of the job that was sent, and its output once it has reached the state `end`. */
export function Result({
  id,
  job,
  end,
  onEnd,
}: {
  id: string;
  job: string;
  end: string;
  onEnd: (state: string) => void;
}) {
  if (job === '')
    return (
      <Panel title="Result">
        <Empty title="Nothing sent yet." />
      </Panel>
    );
  return (
    <>
      <p>
        Job{' '}
        <Link href={`/endpoints/${id}/jobs/${job}`}>
          <code>{job}</code>
        </Link>
      </p>
      <StreamView key={job} endpointId={id} jobId={job} onEnd={onEnd} />
      {end !== '' && <OutputView endpointId={id} jobId={job} state={end} />}
    </>
  );
}
