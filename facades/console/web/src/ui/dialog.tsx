/** Dialogs. They use the browser's dialog element, which keeps the focus inside and closes with Esc. */

import type { FormEvent, ReactNode } from 'react';
import { useEffect, useId, useRef, useState } from 'react';

/** A dialog that is open while it is mounted. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    if (!element.current!.open) element.current!.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={name}
      onClose={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <header>
        <h2 id={name}>{title}</h2>
        <button type="button" className="quiet" onClick={closeAround}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** Closes the dialog around a button. The dialog element returns the focus. */
function closeAround({ currentTarget }: { currentTarget: HTMLElement }): void {
  currentTarget.closest('dialog')?.close();
}

/** A form in a dialog. If `onSubmit` rejects, the message is shown; on success it closes the dialog itself. */
export function DialogForm({
  title,
  action,
  back = 'Cancel',
  onSubmit,
  onClose,
  children,
  danger = false,
  isReady = true,
}: {
  title: string;
  action: string;
  back?: string;
  onSubmit: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
  danger?: boolean;
  isReady?: boolean;
}) {
  const [failure, setFailure] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setFailure('');
    await onSubmit().catch((error: Error) => setFailure(error.message));
    setIsBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {children}
        {failure !== '' && (
          <p role="alert" className="failure body">
            {failure}
          </p>
        )}
        <div className="more">
          <button type="submit" className={danger ? 'danger' : 'main'} disabled={isBusy || !isReady}>
            {isBusy ? 'Working …' : action}
          </button>
          <button type="button" onClick={closeAround}>
            {back}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A button that opens a dialog. */
export function DialogButton({
  text,
  className,
  spoken,
  children,
}: {
  text: string;
  className?: string;
  spoken?: string;
  children: (close: () => void) => ReactNode;
}) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} onClick={() => setIsOpen(true)}>
        {text}
        {spoken && <span className="spoken"> {spoken}</span>}
      </button>
      {isOpen && children(() => setIsOpen(false))}
    </>
  );
}
