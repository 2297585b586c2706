/** Why a job waits, beside the sentence: what binds its endpoint, and machines that take no further worker of it. */
import type { LimitView } from '../../../views.ts';
import { unbroken } from '../lib/format.ts';
import { Panel } from '../ui/parts.tsx';
import type { UnfitMachine } from '../ui/unfit-machines.tsx';
import { UnfitMachines } from '../ui/unfit-machines.tsx';

/** The panels; nothing where nothing binds. */
export function HoldUps({ limits, machines }: { limits: readonly LimitView[]; machines: readonly UnfitMachine[] }) {
  return (
    <>
      {limits.length > 0 && (
        <Panel title="Limits of its endpoint">
          <ul className="problems">
            {limits.map(({ limit, text, change }) => (
              <li key={`${limit} ${text}`}>
                {unbroken(text)}
                {change !== '' && (
                  <>
                    {' '}
                    – <strong>to change that: {unbroken(change)}</strong>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <UnfitMachines machines={machines} />
    </>
  );
}
