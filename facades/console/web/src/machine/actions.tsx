/** Drains, uncordons or forgets a machine. Each says first what will happen. */
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { MachinePageView } from '../../../views-of-machines.ts';
import { ask } from '../lib/api.ts';
import { counted } from '../lib/format.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

/** Shows the buttons. A connected machine cannot be forgotten: its agent would join again. */
export function MachineActions({ view }: { view: MachinePageView }) {
  const {
    machine: { id, name, connected, cordoned },
  } = view;
  const [failure, setFailure] = useState('');
  const uncordon = (): void => {
    cordon(id, false).then(
      () => setFailure(''),
      (error: Error) => setFailure(error.message),
    );
  };
  return (
    <>
      {failure !== '' && (
        <span role="alert" className="failure">
          {failure}
        </span>
      )}
      {cordoned ? (
        <button type="button" onClick={uncordon}>
          Uncordon
        </button>
      ) : (
        <DialogButton text="Drain" spoken={name}>
          {(close) => (
            <DialogForm
              title={`Drain ${name}?`}
              action="Drain it"
              onClose={close}
              onSubmit={() => cordon(id, true).then(close)}
            >
              <Drained view={view} />
            </DialogForm>
          )}
        </DialogButton>
      )}
      {!connected && <Forget view={view} />}
    </>
  );
}

function cordon(id: string, cordoned: boolean): Promise<unknown> {
  return ask('POST', `/api/machines/${id}/cordon`, { cordoned });
}

function Drained({ view: { workers, pods } }: { view: MachinePageView }) {
  const goOn = workers.length === 1 ? 'it keeps' : 'they keep';
  const stay = pods.length === 1 ? 'it stays' : 'they stay';
  const standby = workers.filter(({ state }) => state === 'FROZEN').length;
  return (
    <div className="body">
      <p>No worker or pod starts or resumes there until you uncordon it.</p>
      <ul>
        <li>
          {workers.length === 0
            ? 'No worker runs there.'
            : `${counted(workers.length, 'worker')} there: ${goOn} running.`}
        </li>
        {standby > 0 && (
          <li>{counted(standby, 'standby worker')} of these will not resume; jobs start workers elsewhere.</li>
        )}
        <li>
          {pods.length === 0 ? 'It has no pods.' : `${counted(pods.length, 'pod')} there: ${stay}, with all files.`}
        </li>
      </ul>
    </div>
  );
}

function Forget({
  view: {
    machine: { id, name },
    workers,
    pods,
  },
}: {
  view: MachinePageView;
}) {
  const [, go] = useLocation();
  const submit = async (close: () => void): Promise<void> => {
    await ask('POST', `/api/machines/${id}/forget`, {});
    close();
    go('/machines');
  };
  return (
    <DialogButton text="Forget" className="danger" spoken={name}>
      {(close) => (
        <DialogForm title={`Forget ${name}?`} action="Forget it" danger onClose={close} onSubmit={() => submit(close)}>
          <div className="body">
            <p>For a machine that will not come back. It cannot be undone.</p>
            <ul>
              <li>
                {workers.length === 0
                  ? 'No worker is lost.'
                  : `Lost with it: ${counted(workers.length, 'worker')}; replacements start elsewhere.`}
              </li>
              <li>
                {pods.length === 0
                  ? 'It has no pods.'
                  : `Deleted with all files: ${counted(pods.length, 'pod')}, ${namesOf(pods)}.`}
              </li>
              <li>Its key stops working: to join again it needs a new one.</li>
            </ul>
          </div>
        </DialogForm>
      )}
    </DialogButton>
  );
}

const NAMED_MAX = 5;

function namesOf(pods: MachinePageView['pods']): string {
  const more = pods.length - NAMED_MAX;
  return (
    pods
      .slice(0, NAMED_MAX)
      .map(({ name }) => name)
      .join(', ') + (more > 0 ? ` and ${more} more` : '')
  );
}
