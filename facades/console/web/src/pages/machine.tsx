/** The page of a machine, for the operator: connection, GPUs, workers, pods, images and actions. */
import type { MachinePageView } from '../../../views-of-machines.ts';
import { Workers } from '../endpoint/workers.tsx';
import { ago, count } from '../lib/format.ts';
import { useIsOperator } from '../lib/session.tsx';
import { useLive } from '../lib/use-live.ts';
import { MachineActions } from '../machine/actions.tsx';
import { Facts } from '../machine/facts.tsx';
import { Gpus } from '../machine/gpus.tsx';
import { Images, Pods, UnfitEndpoints } from '../machine/lists.tsx';
import { MachineModels } from '../machine/models.tsx';
import { DrainState } from '../ui/drain-state.tsx';
import { Away, Badge, Empty, Figure, Loading, Refused, Trail } from '../ui/parts.tsx';

/** Shows the page. `name` is the machine's id or name. */
export default function MachinePage({ name }: { name: string }) {
  const { view, away, ended } = useLive<MachinePageView>(`?machine=${encodeURIComponent(name)}`);
  const isOperator = useIsOperator();
  const trail = (
    <Trail
      steps={[
        isOperator ? { text: 'Machines', to: '/machines' } : { text: 'Overview', to: '/' },
        { text: view?.machine.name ?? name },
      ]}
    />
  );
  if (ended)
    return (
      <>
        {trail}
        <Refused title="Machine" why={ended}>
          It may have been forgotten. The Machines page lists all that joined.
        </Refused>
      </>
    );
  if (!view)
    return (
      <>
        {trail}
        <h1>Machine</h1>
        <Loading away={away} />
      </>
    );
  const { machine, nowMs, workers, pods, agentSinceMs } = view;
  const inUse = machine.gpus.filter(({ heldBy }) => heldBy !== '').length;
  return (
    <>
      {trail}
      <div className="title">
        <h1 title={machine.name}>{machine.name}</h1>
        <code className="id">{machine.id}</code>
        <States view={view} />
        <div className="actions">
          <MachineActions view={view} />
        </div>
      </div>
      <Away text={away} />
      <dl className="figures">
        <Figure label="Last seen" value={ago(machine.seenMs, nowMs)} tone={machine.connected ? '' : 'bad'} />
        <Figure label="Workers" value={count(workers.length)} />
        <Figure label="Pods" value={count(pods.length)} />
        <Figure label="GPUs in use" value={machine.gpus.length === 0 ? '–' : `${inUse} / ${machine.gpus.length}`} />
        <Figure
          label="Agent"
          value={machine.agentVersion || '–'}
          hint={agentSinceMs === 0 ? '' : `this run of it came ${ago(agentSinceMs, nowMs)}`}
        />
      </dl>
      <UnfitEndpoints view={view} />
      <Gpus view={view} />
      <Workers view={view} machineName={machine.name} />
      <Pods view={view} />
      <MachineModels view={view} />
      <Images view={view} />
      <Facts view={view} />
      {workers.length === 0 && pods.length === 0 && machine.gpus.length === 0 && (
        <Empty title="It has no GPU, and nothing runs on it." />
      )}
    </>
  );
}

/** Shows whether the machine is connected, cordoned, draining, or its key revoked. */
function States({ view: { machine, keyRevokedMs, nowMs } }: { view: MachinePageView }) {
  const { connected, seenMs } = machine;
  return (
    <>
      {connected ? (
        <Badge word="connected" tone="good" />
      ) : (
        <Badge word={`away, last seen ${ago(seenMs, nowMs)}`} tone="bad" />
      )}
      <DrainState machine={machine} nowMs={nowMs} />
      {keyRevokedMs > 0 && <Badge word="key revoked" tone="bad" />}
    </>
  );
}
