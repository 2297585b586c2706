/** The GPUs of a machine: health, load, and the worker or pod that has each. */
import { Link } from 'wouter';
import type { GpuView } from '../../../views-of-gpus.ts';
import type { MachinePageView } from '../../../views-of-machines.ts';
import { busyText, loadText } from '../charts/gpu-load.ts';
import { mib, share, stateText } from '../lib/format.ts';
import { AccountName, Badge, Panel } from '../ui/parts.tsx';

/** Shows the panel; nothing if the machine has no GPU. */
export function Gpus({ view }: { view: MachinePageView }) {
  const { gpus } = view.machine;
  if (gpus.length === 0) return null;
  const isLoadKnown = gpus.some(({ load }) => load);
  return (
    <Panel title="GPUs">
      <div className="scroll" tabIndex={0} role="region" aria-label="GPUs, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>GPU</th>
              <th>Type</th>
              <th className="right">Memory</th>
              {isLoadKnown && (
                <>
                  <th className="right">In use</th>
                  <th className="right">Utilization</th>
                  <th className="right">Card</th>
                </>
              )}
              <th>Health</th>
              <th>Held by</th>
              <th>Account</th>
            </tr>
          </thead>
          <tbody>
            {gpus.map((gpu) => (
              <Row key={gpu.uuid} gpu={gpu} view={view} isLoadKnown={isLoadKnown} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Row({
  gpu: { uuid, name, memoryMib, unhealthy, warning, busy, load, offloaded },
  view: { workers, pods, accounts },
  isLoadKnown,
}: {
  gpu: GpuView;
  view: MachinePageView;
  isLoadKnown: boolean;
}) {
  // A crashed worker holds no GPU while it waits for its next start. A standby worker's GPU may be in use by another.
  const holders = workers.filter(
    ({ gpus, state, standby }) => gpus.includes(uuid) && state !== 'UNHEALTHY' && standby !== 'HOST',
  );
  const worker = holders.find(({ state }) => state !== 'FROZEN') ?? holders[0];
  const pod = worker ? undefined : pods.find(({ gpus }) => gpus.includes(uuid));
  return (
    <tr>
      <th scope="row" className="wide">
        <code>{uuid}</code>
      </th>
      <td>{name}</td>
      <td className="right number">{mib(memoryMib)}</td>
      {isLoadKnown && <Load load={load} memoryMib={memoryMib} />}
      <td className={unhealthy + warning === '' ? '' : 'wide'}>
        {unhealthy !== '' && <Badge word="unhealthy" tone="bad" />}
        {unhealthy === '' && warning !== '' && <Badge word="warning" tone="warn" />}
        {unhealthy + warning === '' && <Badge word="healthy" tone="good" />} {unhealthy || warning}
      </td>
      <td className="wide">
        {worker && (
          <>
            worker <code>{worker.id}</code> of{' '}
            <Link href={`/endpoints/${worker.endpoint?.id ?? ''}`}>{worker.endpoint?.name}</Link>,{' '}
            {worker.state === 'READY' ? busyText(busy) : stateText(worker.state)}
          </>
        )}
        {pod && (
          <>
            pod <code>{pod.id}</code>, {pod.name}
          </>
        )}
        {!worker && !pod && 'free'}
        {offloaded.length > 0 && `; in host memory: ${offloaded.join(', ')}`}
      </td>
      <td>
        <AccountName id={worker?.endpoint?.accountId ?? pod?.accountId ?? ''} accounts={accounts} />
      </td>
    </tr>
  );
}

/** Cells stay empty if the driver does not report them: MIG slices have no utilization. */
function Load({ load, memoryMib }: { load: GpuView['load']; memoryMib: number }) {
  const { utilization = null, memoryUsedMib = null, temperatureCelsius = null, powerWatts = null } = load ?? {};
  return (
    <>
      <td className="right number">
        {memoryUsedMib !== null && <Bar part={memoryUsedMib / Math.max(memoryMib, 1)} text={mib(memoryUsedMib)} />}
      </td>
      <td className="right number">{utilization !== null && <Bar part={utilization} text={share(utilization)} />}</td>
      <td className="right number">
        {loadText({ utilization: null, memoryUsedMib: null, temperatureCelsius, powerWatts })}
      </td>
    </>
  );
}

/** Shows the text with a bar. */
function Bar({ part, text }: { part: number; text: string }) {
  return (
    <>
      {text}
      <svg className="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.min(part, 1) * 100} height="4" />
      </svg>
    </>
  );
}
