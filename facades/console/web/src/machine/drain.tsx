/** Cordons, uncordons, drains or undrains a machine. */
import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { MachineView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

const MINUTE_MS = 60_000;
const DEADLINE_MINUTES_MAX = 7 * 24 * 60;
const REASON_LENGTH_MAX = 500;

interface Props {
  machine: MachineView;
  /** The server's clock. */
  nowMs: number;
  /** Text that explains the effects of the drain. */
  children: ReactNode;
}

/** Shows the buttons that fit the machine's state. */
export function DrainActions(props: Props) {
  const { id, name, cordoned, drain } = props.machine;
  const [failure, setFailure] = useState('');
  const cordon = (wanted: boolean): void => {
    ask('POST', `/api/machines/${id}/cordon`, { cordoned: wanted }).then(
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
        <button type="button" onClick={() => cordon(false)} title="New work may be placed there again">
          {drain ? 'Undrain' : 'Uncordon'}
          <span className="spoken"> {name}</span>
        </button>
      ) : (
        <button
          type="button"
          onClick={() => cordon(true)}
          title="Nothing new is placed there; its workers still take jobs"
        >
          Cordon
          <span className="spoken"> {name}</span>
        </button>
      )}
      <DialogButton text={drain ? 'Change drain' : 'Drain'} spoken={name}>
        {(close) => <DrainForm {...props} onClose={close} />}
      </DialogButton>
    </>
  );
}

function DrainForm({ machine: { id, name, drain }, nowMs, children, onClose }: Props & { onClose: () => void }) {
  const ids = useId();
  const [minutes, setMinutes] = useState(
    drain && drain.deadlineMs > 0 ? String(Math.max(Math.ceil((drain.deadlineMs - nowMs) / MINUTE_MS), 0)) : '',
  );
  const [reason, setReason] = useState(drain?.reason ?? '');
  const submit = async (): Promise<void> => {
    await ask('POST', `/api/machines/${id}/drain`, { ...(minutes === '' ? {} : { minutes: Number(minutes) }), reason });
    onClose();
  };
  return (
    <DialogForm
      title={drain ? `Change the drain of ${name}?` : `Drain ${name}?`}
      action={drain ? 'Change it' : 'Drain it'}
      onClose={onClose}
      onSubmit={submit}
    >
      {children}
      <div className="form">
        <div>
          <label htmlFor={`${ids}minutes`}>Deadline, in minutes from now</label>
          <input
            id={`${ids}minutes`}
            type="number"
            min={0}
            max={DEADLINE_MINUTES_MAX}
            value={minutes}
            onChange={({ target }) => setMinutes(target.value)}
          />
          <p className="hint">
            Jobs that still run then are queued again, without a retry, and open requests are cut. Empty: never.
          </p>
        </div>
        <div>
          <label htmlFor={`${ids}reason`}>Reason</label>
          <input
            id={`${ids}reason`}
            maxLength={REASON_LENGTH_MAX}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
          <p className="hint">For people.</p>
        </div>
      </div>
    </DialogForm>
  );
}
