/** Machines that could take no further worker of an endpoint, each with the reason and what would change it. */

import { unbroken } from '../lib/format.ts';
import { Panel } from './parts.tsx';

/** As core explains it; those with the same answer stand together, and only the operator is told names. */
export interface UnfitMachine {
  count: number;
  name?: string;
  fits: boolean;
  reason: string;
  change?: string;
}

/** The panel; nothing where none refuses. */
export function UnfitMachines({ machines }: { machines: readonly UnfitMachine[] }) {
  const unfit = machines.filter(({ fits, reason }) => !fits && reason !== '');
  if (unfit.length === 0) return null;
  return (
    <Panel title="Machines that take no further worker">
      <ul className="problems">
        {unfit.map(({ count, name, reason, change }) => (
          <li key={`${name} ${reason}`}>
            <strong>{name || (count === 1 ? 'One machine' : `${count} machines`)}</strong>{' '}
            {unbroken(change ? `${reason} – ${change}` : reason)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
