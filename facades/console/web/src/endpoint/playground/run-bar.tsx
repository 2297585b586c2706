/** The buttons below a form of the playground, and the state of its request. */
import type { Run } from './use-run.ts';

/** Shows the buttons. `isReady` if there is something to send. */
export function RunBar({ run, isReady, onSend }: { run: Run; isReady: boolean; onSend: () => void }) {
  const { isRunning, fault, note, stop } = run;
  return (
    <>
      {fault !== '' && (
        <p role="alert" className="failure">
          {fault}
        </p>
      )}
      <div className="choices">
        <button type="button" className="main" disabled={isRunning || !isReady} onClick={onSend}>
          Send
        </button>
        <button type="button" disabled={!isRunning} onClick={stop}>
          Stop
        </button>
        <span className="hint" role="status">
          {isRunning ? 'Waiting for the endpoint …' : note || 'or Ctrl+Enter'}
        </span>
      </div>
    </>
  );
}
