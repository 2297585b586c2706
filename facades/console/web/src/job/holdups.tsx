/** Why a job waits, in detail: limits of its endpoint, and machines that cannot take another worker of it. */
import type { LimitView } from '../../../views.ts';
import { coreText } from '../lib/core-text.ts';
import { Panel } from '../ui/parts.tsx';
import type { UnfitMachine } from '../ui/unfit-machines.tsx';
import { UnfitMachines } from '../ui/unfit-machines.tsx';

/** Shows the panels; nothing if nothing limits the endpoint. */
export function HoldUps({ limits, machines }: { limits: readonly LimitView[]; machines: readonly UnfitMachine[] }) {
  return (
    <>
      {limits.length > 0 && (
        <Panel title="Limits of its endpoint">
          <ul className="problems">
            {limits.map(({ limit, text, change }) => (
              <li key={`${limit} ${text}`}>
                {coreText(text)}
                {change !== '' && (
                  <>
                    {' '}
                    – <strong>{coreText(change)}</strong>
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
