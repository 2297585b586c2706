/** The GPUs of a machine: how each is, and which worker or pod of which account has it. */
import { Link } from 'wouter';
import type { MachinePageView } from '../../../views-of-machines.ts';
import type { GpuView } from '../../../views.ts';
import { Badge, Panel } from '../parts.tsx';
import { mib } from '../words.ts';

/** The panel; nothing where it has none. */
export function Gpus({ view }: { view: MachinePageView }) {
  const { gpus } = view.machine;
  if (gpus.length === 0) return null;
  return (
    <Panel title="GPUs">
      <div className="scroll" tabIndex={0} role="region" aria-label="GPUs, scrolls sideways">
        <table className="rows">
          <thead><tr><th>GPU</th><th>Type</th><th className="right">Memory</th><th>Health</th><th>Held by</th><th>Account</th></tr></thead>
          <tbody>{gpus.map((gpu) => <Row key={gpu.uuid} gpu={gpu} view={view} />)}</tbody>
        </table>
      </div>
    </Panel>
  );
}

function Row({ gpu: { uuid, name, memoryMib, unhealthy, busy }, view: { workers, pods } }: { gpu: GpuView; view: MachinePageView }) {
  const worker = workers.find(({ gpus, state }) => gpus.includes(uuid) && state !== 'FROZEN') ?? workers.find(({ gpus }) => gpus.includes(uuid));
  const pod = worker ? undefined : pods.find(({ gpus }) => gpus.includes(uuid));
  return (
    <tr>
      <th scope="row"><code>{uuid}</code></th>
      <td>{name}</td>
      <td className="right number">{mib(memoryMib)}</td>
      <td className={unhealthy === '' ? '' : 'wide'}>
        <Badge word={unhealthy === '' ? 'well' : 'not well'} tone={unhealthy === '' ? 'good' : 'bad'} /> {unhealthy}
      </td>
      <td>
        {worker && <>worker <code>{worker.id}</code> of <Link href={`/endpoints/${worker.endpoint?.id ?? ''}`}>{worker.endpoint?.name}</Link>, {
          worker.state === 'READY' ? busy === 0 ? 'idle' : `${Math.round(busy * 100)}\u00A0% busy` : worker.state.toLowerCase()
        }</>}
        {pod && <>pod <code>{pod.id}</code>, {pod.name}</>}
        {!worker && !pod && 'free'}
      </td>
      <td>{worker?.endpoint?.accountId ?? pod?.accountId ?? ''}</td>
    </tr>
  );
}
