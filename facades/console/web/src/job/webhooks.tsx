/** The webhook calls of a job, and the newest of them once more. */
import { useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { WebhookView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Badge, Panel } from '../parts.tsx';
import { useSession } from '../session.tsx';
import { moment } from '../words.ts';

const TONES: Readonly<Record<string, string>> = { DELIVERED: 'good', GIVEN_UP: 'bad', WAITING: 'busy' };
const LOOK_MS = 2_000;

/** The panel; nothing for a job that calls nobody. */
export function Webhooks({ path, state }: { path: string; state: string }) {
  const [failure, setFailure] = useState('');
  const { jobs } = useSession();
  const { data = [], refetch } = useQuery({
    queryKey: ['webhooks', path, state], queryFn: () => ask<WebhookView[]>('GET', path),
    refetchInterval: ({ state: { data: known } }) => (known?.some((call) => call.state === 'WAITING') ? LOOK_MS : false),
  });
  if (data.length === 0) return null;
  const redrive = (): void => {
    ask('POST', path, {}).then(() => { setFailure(''); return refetch(); }, (error: Error) => setFailure(error.message));
  };
  return (
    <Panel title="Webhook calls">
      <div className="scroll" tabIndex={0} role="region" aria-label="Webhook calls, scrolls sideways">
        <table className="rows">
          <thead><tr>
            <th>Call</th><th>State</th><th className="right">Tries</th><th className="right">Redriven</th><th>When</th><th>Last failure</th>
            <th><span className="spoken">Actions</span></th>
          </tr></thead>
          <tbody>
            {data.map(({ id, state: stands, tries, redrives, dueMs, endMs, lastError }, index) => (
              <tr key={id}>
                <td className="id">{id.slice(id.lastIndexOf('.') + 1)}</td><td><Badge word={stands} tone={TONES[stands] ?? 'calm'} /></td>
                <td className="right number">{tries}</td><td className="right number">{redrives}</td>
                <td>{endMs > 0 ? moment(endMs) : `due ${moment(dueMs)}`}</td><td className="error">{lastError || '–'}</td>
                <td>{index === 0 && stands !== 'WAITING' && jobs === 'write' && <button type="button" onClick={redrive}>Call again</button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {failure !== '' && <p role="alert" className="failure body">{failure}</p>}
    </Panel>
  );
}
