/** Batches whose requests an endpoint runs in the time that its workers have left. */
import type { EndpointView } from '../../../views.ts';
import { unbroken } from '../lib/format.ts';
import { Badge, Panel } from '../ui/parts.tsx';

/** Shows the panel; nothing without batches. */
export function Batches({ batches }: Pick<EndpointView, 'batches'>) {
  if (batches.length === 0) return null;
  return (
    <Panel title="Batches" aside="run at low priority, and start no worker">
      <ul className="problems">
        {batches.map(({ id, total, ended, stalled, reason }, index) => (
          <li key={id || index}>
            <strong>{id || 'a batch'}</strong>{' '}
            <Badge
              word={stalled === '' ? `${Math.floor((ended / Math.max(total, 1)) * 100)} %` : 'stalled'}
              tone={stalled === '' ? 'good' : 'warn'}
            />{' '}
            {unbroken(reason)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
