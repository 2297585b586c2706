/** The page of a pod: state and reason, machine, configuration and log. */
import type { PodView } from '../../../views-of-pods.ts';
import { ago, count } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useLive } from '../lib/use-live.ts';
import { plainText } from '../lib/worker-text.ts';
import { PodActions } from '../pod/actions.tsx';
import { Away, Badge, FactsTable, Figure, Loading, Panel, Refused, Trail } from '../ui/parts.tsx';
import { TailLog } from '../ui/tail-log.tsx';

/** Shows the page. */
export default function PodPage({ id }: { id: string }) {
  const { view, away, ended } = useLive<PodView>(`?pod=${encodeURIComponent(id)}`);
  const mayChange = useSession().manage === 'write';
  const trail = <Trail steps={[{ text: 'Pods', to: '/pods' }, { text: view?.name ?? id }]} />;
  if (ended)
    return (
      <>
        {trail}
        <Refused title="Pod" why={ended} />
      </>
    );
  if (!view)
    return (
      <>
        {trail}
        <h1>Pod</h1>
        <Loading away={away} />
      </>
    );
  const { name, state, desiredStatus, statusText, sinceMs, nowMs, gpuTypeId, gpus, machineId, costPerHour } = view;
  return (
    <>
      {trail}
      <div className="title">
        <h1 title={name}>{name}</h1>
        <code className="id">{id}</code>
        <Badge word={state} />
        {mayChange && (
          <div className="actions">
            <PodActions id={id} name={name} isStopped={desiredStatus !== 'RUNNING'} />
          </div>
        )}
      </div>
      <Away text={away} />
      <dl className="figures">
        <Figure
          label="State"
          value={state.toLowerCase()}
          tone={state === 'FAILED' ? 'bad' : ''}
          hint={`it shall be ${desiredStatus.toLowerCase()}`}
        />
        <Figure label="Since" value={sinceMs === 0 ? '–' : ago(sinceMs, nowMs)} />
        <Figure label="GPUs" value={gpus.length === 0 ? '–' : `${count(gpus.length)} × ${gpuTypeId}`} />
        <Figure label="Machine" value={machineId || '–'} />
        <Figure label="Cost, $ an hour" value={count(costPerHour)} />
      </dl>
      {statusText !== '' && (
        <Panel title="Last report of its machine">
          <pre className="viewer" tabIndex={0} role="group" aria-label="Last report of its machine">
            {plainText(statusText)}
          </pre>
        </Panel>
      )}
      <Runs view={view} />
      <Panel title="Log">
        <TailLog of={{ pod: id }} label="Log" />
      </Panel>
    </>
  );
}

function Runs({ view: { image, command, ports, gpus, volumeMountPath, networkVolumeId } }: { view: PodView }) {
  const facts: [string, string][] = [
    ['Image', image || 'none: its command runs on the host'],
    ['Command', command.join(' ')],
    ['Ports', ports.join(', ')],
    ['GPUs', gpus.join(', ')],
    ['Files', `${networkVolumeId === '' ? 'own disk' : `network volume ${networkVolumeId}`}, at ${volumeMountPath}`],
  ];
  return (
    <Panel title="Configuration">
      <FactsTable label="Configuration" facts={facts} />
    </Panel>
  );
}
