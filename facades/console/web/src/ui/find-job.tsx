/** Opens a job by its id, from every page: by the button in the frame, or by the key `/`. */
import { useEffect, useId, useState } from 'react';
import { useLocation } from 'wouter';
import type { JobPlaceView } from '../../../views-of-jobs.ts';
import { ask } from '../lib/api.ts';
import { DialogForm } from './dialog.tsx';

/** Shows the button, and the dialog while it is open. */
export function FindJob() {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      setIsOpen(true);
    };
    document.addEventListener('keydown', open);
    return () => document.removeEventListener('keydown', open);
  }, []);
  return (
    <>
      <button type="button" className="quiet find-job" aria-keyshortcuts="/" onClick={() => setIsOpen(true)}>
        Find a job <kbd>/</kbd>
      </button>
      {isOpen && <Find onClose={() => setIsOpen(false)} />}
    </>
  );
}

function Find({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [, go] = useLocation();
  const field = useId();
  const id = text.trim();
  const find = async (): Promise<void> => {
    const { endpointId, jobId } = await ask<JobPlaceView>('GET', `/api/jobs/${encodeURIComponent(id)}`);
    onClose();
    go(`/endpoints/${endpointId}/jobs/${jobId}`);
  };
  return (
    <DialogForm title="Find a job" action="Open it" isReady={id !== ''} onSubmit={find} onClose={onClose}>
      <div className="body">
        <label htmlFor={field}>Job id</label>
        <input
          id={field}
          className="whole"
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <p className="hint">On any endpoint. Jobs by other facts: the page Jobs.</p>
      </div>
    </DialogForm>
  );
}

/** Returns whether a key press writes a text, or a dialog is open. */
function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof Element ? target : document.body;
  return element.closest('input, textarea, select, [contenteditable], dialog') !== null;
}
