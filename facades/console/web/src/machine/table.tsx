/** The table of machines, with what the operator does to one: cordon, drain, forget. */
import { Link } from 'wouter';
import type { MachineView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { ago, mib } from '../lib/format.ts';
import { Head } from '../listing/listing-parts.tsx';
import type { Listing } from '../listing/use-listing.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { DrainState } from '../ui/drain-state.tsx';
import { ActionsHead, Badge } from '../ui/parts.tsx';
import { DrainActions } from './drain.tsx';
import { DrainOutlook } from './drain-outlook.tsx';

/** Shows one page of machines. `nowMs` is the server's clock; `isOld` if another page is on its way. */
export function MachineTable({
  listing,
  machines,
  nowMs,
  isOld,
}: {
  listing: Listing;
  machines: readonly MachineView[];
  nowMs: number;
  isOld: boolean;
}) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Machines, scrolls sideways" aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            <Head listing={listing} text="Name" by="name" />
            <Head listing={listing} text="State" by="state" />
            <Head listing={listing} text="Last seen" by="seen" />
            <th className="right">Workers</th>
            <Head listing={listing} text="Processors" by="processors" className="right" />
            <Head listing={listing} text="Memory" by="memory" className="right" />
            <th>Engine</th>
            <th>Agent</th>
            <ActionsHead />
          </tr>
        </thead>
        <tbody>
          {machines.map((machine) => (
            <Row key={machine.id} machine={machine} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ machine, nowMs }: { machine: MachineView; nowMs: number }) {
  const { id, name, connected, workers } = machine;
  return (
    <tr>
      <th scope="row">
        <Link href={`/machines/${id}`} className="text" title={name}>
          {name}
        </Link>{' '}
        <code className="id">{id}</code>
      </th>
      <td className="wide">
        {connected ? <Badge word="connected" tone="good" /> : <Badge word="away" tone="bad" />}{' '}
        <DrainState machine={machine} nowMs={nowMs} />
      </td>
      <td>{ago(machine.seenMs, nowMs)}</td>
      <td className="right number">{workers}</td>
      <td className="right number">{machine.cpuCount || '–'}</td>
      <td className="right number">{machine.memoryMib ? mib(machine.memoryMib) : '–'}</td>
      <td>{machine.engine || 'none'}</td>
      <td>{machine.agentVersion}</td>
      <td className="acts">
        <span className="choices">
          <DrainActions machine={machine} nowMs={nowMs}>
            <DrainOutlook workers={workers} />
          </DrainActions>
          {!connected && <Forget id={id} name={name} />}
        </span>
      </td>
    </tr>
  );
}

/** Forgets a machine that will not come back. */
function Forget({ id, name }: { id: string; name: string }) {
  return (
    <DialogButton text="Forget" className="danger" spoken={name}>
      {(close) => (
        <DialogForm
          title={`Forget ${name}?`}
          action="Forget it"
          danger
          onClose={close}
          onSubmit={() => ask('POST', `/api/machines/${id}/forget`, {}).then(close)}
        >
          <p className="body">Its workers count as lost, its pods are deleted, and its key stops working.</p>
        </DialogForm>
      )}
    </DialogButton>
  );
}
