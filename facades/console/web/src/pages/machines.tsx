/** The list of machines, for the operator. */
import type { OverviewView } from '../../../views.ts';
import { GpuMap, NoMachine } from '../charts/gpu-map.tsx';
import { NewKey } from '../forms/new-key.tsx';
import { useLive } from '../lib/use-live.ts';
import { Filters, Narrowed, namesOf, Pages, Search } from '../listing/listing-parts.tsx';
import { MACHINE_FILTERS } from '../listing/live-filters.ts';
import { useListing } from '../listing/use-listing.ts';
import { MachineTable } from '../machine/table.tsx';
import { DialogButton } from '../ui/dialog.tsx';
import { Away, Loading, NoHit, Panel, Refused } from '../ui/parts.tsx';

/** Shows the page. */
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
          <MachineTable listing={listing} machines={machines} nowMs={view.nowMs} isOld={isOld} />
        )}
        <Pages listing={listing} next={view.next} isOld={isOld} />
      </Panel>
    </>
  );
}
