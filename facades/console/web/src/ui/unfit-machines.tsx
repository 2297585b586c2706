/** Machines that cannot take another worker of an endpoint, each with the reason and what would change that. */

import { coreText } from '../lib/core-text.ts';
import { Panel } from './parts.tsx';

/** Core's explanation. Machines with the same reason are grouped; only the operator sees names. */
export interface UnfitMachine {
  count: number;
  name?: string;
  fits: boolean;
  reason: string;
  change?: string;
}

/** Shows the panel; nothing if every machine fits. */
export function UnfitMachines({ machines }: { machines: readonly UnfitMachine[] }) {
  const unfit = machines.filter(({ fits, reason }) => !fits && reason !== '');
  if (unfit.length === 0) return null;
  return (
    <Panel title="Machines that cannot take another worker">
      <ul className="problems">
        {unfit.map(({ count, name, reason, change }) => (
          <li key={`${name} ${reason}`}>
            <strong>{name || (count === 1 ? 'One machine' : `${count} machines`)}</strong>{' '}
            {coreText(change ? `${reason} – ${change}` : reason)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
