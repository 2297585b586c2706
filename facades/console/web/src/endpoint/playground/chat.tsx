/** Chat with an endpoint: each answer is shown as it arrives, and goes with the next message. */
import { useRef, useState } from 'react';
import { span } from '../../lib/format.ts';
import { stopwatch } from '../../lib/stopwatch.ts';
import { Empty, Panel } from '../../ui/parts.tsx';
import { onNextFrame } from '../../ui/text-blocks.tsx';
import type { ModelChoice } from './model-choice.ts';
import { Numeric } from './numeric.tsx';
import { askChat } from './openai-send.ts';
import { RunBar } from './run-bar.tsx';
import { useRun } from './use-run.ts';
import { ViewCode } from './view-code.tsx';

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** The form as it is filled in. */
interface Form {
  text: string;
  system: string;
  temperature: string;
  most: string;
}

const FIRST = 'Name three harbours of the Baltic Sea.';

/** Shows the conversation and the form. */
export function Chat({ endpoint, model }: ModelChoice) {
  const [thread, setThread] = useState<readonly Message[]>([]);
  const [form, setForm] = useState<Form>({ text: '', system: '', temperature: '', most: '' });
  const { text } = form;
  const setText = (next: string): void => setForm((latest) => ({ ...latest, text: next }));
  const before = useRef<{ thread: readonly Message[]; text: string }>(undefined);
  // A message that got no answer is not part of the conversation: it can be sent again.
  const run = useRun(() => {
    if (!before.current) return;
    setThread(before.current.thread);
    setText(before.current.text);
  });
  const send = (): void => {
    if (run.isRunning || text.trim() === '') return;
    const asked: readonly Message[] = [...thread, { role: 'user', content: text }];
    before.current = { thread, text };
    setThread(asked);
    setText('');
    run.start(async (signal) => {
      let answer = '';
      let firstMs = 0;
      const sinceMs = stopwatch();
      // Pieces may arrive faster than a page can be drawn.
      const show = onNextFrame(() => setThread([...asked, { role: 'assistant', content: answer }]));
      for await (const piece of askChat(endpoint, requestOf(model, form, asked), signal)) {
        firstMs ||= sinceMs();
        answer += piece;
        before.current = undefined;
        show();
      }
      return firstMs === 0 ? 'the answer is empty' : `began after ${span(firstMs)}`;
    });
  };
  const next: readonly Message[] = [...thread, { role: 'user', content: text || FIRST }];
  return (
    <>
      <Panel
        title="Chat"
        aside={
          <button type="button" disabled={run.isRunning || thread.length === 0} onClick={() => setThread([])}>
            Clear
          </button>
        }
      >
        {thread.length === 0 ? <Empty title="No message yet." /> : <Conversation thread={thread} model={model} />}
        <div
          className="body asked"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
          }}
        >
          <Fields form={form} change={(part) => setForm({ ...form, ...part })} />
          <RunBar run={run} isReady={text.trim() !== ''} onSend={send} />
        </div>
      </Panel>
      <ViewCode endpoint={endpoint} request={requestOf(model, form, next)} />
    </>
  );
}

/** Returns the request that sends the messages. */
function requestOf(model: string, { system, temperature, most }: Form, messages: readonly Message[]) {
  return {
    route: '/chat/completions',
    body: {
      model,
      messages: [...(system.trim() === '' ? [] : [{ role: 'system', content: system }]), ...messages],
      ...(temperature === '' ? {} : { temperature: Number(temperature) }),
      ...(most === '' ? {} : { max_tokens: Number(most) }),
      stream: true,
    },
  };
}

function Conversation({ thread, model }: { thread: readonly Message[]; model: string }) {
  return (
    <ol className="chat" role="log" aria-label="Conversation" tabIndex={0}>
      {thread.map(({ role, content }, place) => (
        <li key={place} className={role}>
          <strong>{role === 'user' ? 'You' : model || 'Model'}</strong>
          <p>{content}</p>
        </li>
      ))}
    </ol>
  );
}

function Fields({ form, change }: { form: Form; change: (part: Partial<Form>) => void }) {
  const { text, system, temperature, most } = form;
  return (
    <>
      <div>
        <label htmlFor="message">Message</label>
        <textarea
          id="message"
          rows={3}
          placeholder={FIRST}
          value={text}
          onChange={({ target }) => change({ text: target.value })}
        />
      </div>
      <div>
        <label htmlFor="system">System prompt</label>
        <textarea id="system" rows={2} value={system} onChange={({ target }) => change({ system: target.value })} />
      </div>
      <div className="halves">
        <Numeric
          id="temperature"
          label="Temperature"
          value={temperature}
          onChange={(value) => change({ temperature: value })}
        />
        <Numeric id="max-tokens" label="Most tokens" value={most} onChange={(value) => change({ most: value })} />
      </div>
    </>
  );
}
