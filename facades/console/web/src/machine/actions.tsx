/** Cordons, drains or forgets a machine. Draining and forgetting say first what will happen. */
import { useLocation } from 'wouter';
import type { MachinePageView } from '../../../views-of-machines.ts';
import { ask } from '../lib/api.ts';
import { counted } from '../lib/format.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { DrainActions } from './drain.tsx';
import { DrainOutlook } from './drain-outlook.tsx';

/** Shows the buttons. A connected machine cannot be forgotten: its agent would join again. */
export function MachineActions({ view }: { view: MachinePageView }) {
  const { machine, nowMs, workers, pods } = view;
  const standby = workers.filter(({ state }) => state === 'FROZEN').length;
  return (
    <>
      <DrainActions machine={machine} nowMs={nowMs}>
        <DrainOutlook workers={workers.length} standby={standby} pods={pods.length} />
      </DrainActions>
      {!machine.connected && <Forget view={view} />}
    </>
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
