/** Machines of the installation, for the operator: what each has, and whether new work may go there. */
import { useState } from 'react';
import { Link } from 'wouter';
import type { MachineView, OverviewView } from '../../../views.ts';
import { GpuMap, NoMachine } from '../charts/gpu-map.tsx';
import { ask } from '../lib/api.ts';
import { useLive } from '../lib/live.ts';
import { useListing } from '../lib/use-listing.ts';
import { ago, mib } from '../lib/words.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { Filters, Head, Narrowed, namesOf, Pages, Search } from '../ui/listing-parts.tsx';
import { Away, Badge, Loading, NoHit, Panel, Refused } from '../ui/parts.tsx';
import { MACHINE_FILTERS } from './live-filters.ts';
import { NewKey } from './new-key.tsx';

/** The page. */
export default function MachinesPage() {
  const listing = useListing({ order: 'name', descending: false }, namesOf(MACHINE_FILTERS));
  const { view, isOld, away, ended } = useLive<OverviewView>(`?${listing.query}`);
  if (ended && ended.status !== 400) return <Refused title="Machines" why={ended} />;
  if (ended)
    return (
      <>
        <h1>Machines</h1>
        <Narrowed listing={listing} filters={MACHINE_FILTERS} why={ended} />
      </>
    );
  if (!view)
    return (
      <>
        <h1>Machines</h1>
        <Loading away={away} />
      </>
    );
  const machines = view.machines ?? [];
  const isNone = machines.length === 0 && !isOld && !listing.isNarrowed && listing.page === 1;
  return (
    <>
      <div className="title">
        <h1>Machines</h1>
        <div className="actions">
          <DialogButton text="Join a machine" className="main">
            {(close) => <NewKey scope="AGENT" onClose={close} />}
          </DialogButton>
        </div>
      </div>
      <Away text={away} />
      {machines.length > 0 && <GpuMap machines={machines} isOld={isOld} />}
      <Panel title="All machines">
        {!isNone && (
          <Search listing={listing}>
            <Filters listing={listing} filters={MACHINE_FILTERS} />
          </Search>
        )}
        {isNone ? (
          <NoMachine />
        ) : machines.length === 0 ? (
          <NoHit what="machine" />
        ) : (
          <div className="scroll" tabIndex={0} role="region" aria-label="Machines, scrolls sideways" aria-busy={isOld}>
            <table className="rows">
              <thead>
                <tr>
                  <Head listing={listing} text="Name" by="name" />
                  <Head listing={listing} text="State" by="state" />
                  <Head listing={listing} text="Heard" by="seen" />
                  <th className="right">Workers</th>
                  <Head listing={listing} text="Processors" by="processors" className="right" />
                  <Head listing={listing} text="Memory" by="memory" className="right" />
                  <th>Engine</th>
                  <th>Agent</th>
                  <th className="acts">
                    <span className="spoken">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {machines.map((machine) => (
                  <Row key={machine.id} machine={machine} nowMs={view.nowMs} />
                ))}
              </tbody>
            </table>
          </div>
        )}
        <Pages listing={listing} next={view.next} isOld={isOld} />
      </Panel>
    </>
  );
}

function Row({ machine, nowMs }: { machine: MachineView; nowMs: number }) {
  const { id, name, connected, cordoned } = machine;
  const [failure, setFailure] = useState('');
  const cordon = (): void => {
    ask('POST', `/api/machines/${id}/cordon`, { cordoned: !cordoned }).then(
      () => setFailure(''),
      (error: Error) => setFailure(error.message),
    );
  };
  return (
    <tr>
      <th scope="row">
        <Link href={`/machines/${id}`} className="text" title={name}>
          {name}
        </Link>{' '}
        <code className="id">{id}</code>
      </th>
      <td>
        {connected ? <Badge word="connected" tone="good" /> : <Badge word="away" tone="bad" />}{' '}
        {cordoned && (
          <Badge
            word={machine.workers === 0 ? 'drained' : `draining, ${machine.workers} left`}
            tone={machine.workers === 0 ? 'good' : 'warn'}
          />
        )}
      </td>
      <td>{ago(machine.seenMs, nowMs)}</td>
      <td className="right number">{machine.workers}</td>
      <td className="right number">{machine.cpuCount || '–'}</td>
      <td className="right number">{machine.memoryMib ? mib(machine.memoryMib) : '–'}</td>
      <td>{machine.engine || 'none'}</td>
      <td>{machine.agentVersion}</td>
      <td className="acts">
        <span className="choices">
          <button
            type="button"
            onClick={cordon}
            title={cordoned ? 'Work may go there again' : 'Nothing new goes there; what runs goes on'}
          >
            {cordoned ? 'Let work in' : 'Drain'}
          </button>
          {!connected && <Forget id={id} name={name} />}
          {failure && (
            <span role="alert" className="failure">
              {failure}
            </span>
          )}
        </span>
      </td>
    </tr>
  );
}

/** For a machine that will not come back. */
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
          <p className="body">Its workers count as lost, its pods are deleted, and its key works no more.</p>
        </DialogForm>
      )}
    </DialogButton>
  );
}
