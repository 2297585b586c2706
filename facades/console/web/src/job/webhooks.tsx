/** The webhook calls of a job. The newest can be redelivered. */
import { useState } from 'react';
import type { WebhookView } from '../../../views-of-jobs.ts';
import { ask } from '../lib/api.ts';
import { moment } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import type { Filter } from '../listing/listing-parts.tsx';
import { Filters } from '../listing/listing-parts.tsx';
import type { Listing } from '../listing/use-listing.ts';
import { Badge, Empty, Panel } from '../ui/parts.tsx';

const TONES: Readonly<Record<string, string>> = { DELIVERED: 'good', GIVEN_UP: 'bad', WAITING: 'busy' };
/** Filters of webhook calls. */
export const CALL_FILTERS: readonly Filter[] = [
  {
    name: 'filter.state',
    text: 'State',
    choices: [
      ['WAITING', 'waiting'],
      ['DELIVERED', 'delivered'],
      ['GIVEN_UP', 'given up'],
    ],
  },
];

/**
 * Shows the panel; nothing for a job without a webhook. `path` redelivers the newest call. `isOld` if the calls still
 * match the previous filter.
 */
export function Webhooks({
  path,
  calls,
  isOld,
  filter,
}: {
  path: string;
  calls: readonly WebhookView[];
  isOld: boolean;
  filter: Pick<Listing, 'filters' | 'filter' | 'isNarrowed'>;
}) {
  const [failure, setFailure] = useState('');
  const { jobs } = useSession();
  const { isNarrowed } = filter;
  if (calls.length === 0 && !isNarrowed && !isOld) return null;
  // Only the newest call can be redelivered: with a filter the first row may be another one.
  const mayRedrive = !isNarrowed && !isOld && jobs === 'write';
  const redrive = (): void => {
    ask('POST', path, {}).then(
      () => setFailure(''),
      (error: Error) => setFailure(error.message),
    );
  };
  return (
    <Panel
      title="Webhook calls"
      aside={(isNarrowed || isOld || calls.length > 1) && <Filters listing={filter} filters={CALL_FILTERS} />}
    >
      {calls.length === 0 && <Empty title="Nothing matches." />}
      {calls.length > 0 && <CallTable calls={calls} isOld={isOld} redrive={mayRedrive ? redrive : undefined} />}
      {failure !== '' && (
        <p role="alert" className="failure body">
          {failure}
        </p>
      )}
    </Panel>
  );
}

/** Lists the calls, the newest first. `redrive` makes the newest once more; `undefined` if it may not be. */
function CallTable({
  calls,
  isOld,
  redrive,
}: {
  calls: readonly WebhookView[];
  isOld: boolean;
  redrive: (() => void) | undefined;
}) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Webhook calls, scrolls sideways" aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            <th>Call</th>
            <th>State</th>
            <th className="right">Tries</th>
            <th className="right">Redriven</th>
            <th>When</th>
            <th>Last failure</th>
            <th>
              <span className="spoken">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call, index) => (
            <CallRow key={call.id} call={call} redrive={index === 0 ? redrive : undefined} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CallRow({
  call: { id, state, tries, redrives, dueMs, endMs, lastError },
  redrive,
}: {
  call: WebhookView;
  redrive: (() => void) | undefined;
}) {
  return (
    <tr>
      <td className="id">{id.slice(id.lastIndexOf('.') + 1)}</td>
      <td>
        <Badge word={state} tone={TONES[state] ?? 'calm'} />
      </td>
      <td className="right number">{tries}</td>
      <td className="right number">{redrives}</td>
      <td>{endMs > 0 ? moment(endMs) : `due ${moment(dueMs)}`}</td>
      <td className="error">{lastError || '–'}</td>
      <td>
        {redrive && state !== 'WAITING' && (
          <button type="button" onClick={redrive}>
            Call again
          </button>
        )}
      </td>
    </tr>
  );
}
