/** A new key: what it may do, and the key itself, which is shown once. */
import { useState } from 'react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDebounce } from 'use-debounce';
import type { ListView, NewKeyView } from '../../views.ts';
import { ask } from './api.ts';
import { Copy } from './copy.tsx';
import { Dialog, DialogForm } from './dialog.tsx';
import { Overdue } from './parts.tsx';
import { useIsOperator } from './session.tsx';
import { PAUSE_MS } from './use-listing.ts';

const SCOPES: Readonly<Record<string, string>> = {
  ALL: 'everything in its account', READ_ONLY: 'read everything, change nothing', RESTRICTED: 'what is chosen below', AGENT: 'join one machine',
};
const PERMISSIONS = [['NONE', 'nothing'], ['READ', 'read'], ['READ_WRITE', 'read and change']] as const;

/** Endpoints that are offered at a time. */
const OFFERED_MAX = 50;

interface Wanted {
  name: string;
  scope: string;
  accountId: string;
  management: string;
  jobs: string;
  endpoints: readonly Offered[];
}

/** An endpoint that can be chosen. */
interface Offered {
  id: string;
  name: string;
}

/** The form in its dialog, then the key. `scope`: what it begins with. */
export function NewKey({ scope = 'ALL', onClose }: { scope?: string; onClose: () => void }) {
  const [wanted, setWanted] = useState<Wanted>({ name: '', scope, accountId: '', management: 'READ', jobs: 'READ', endpoints: [] });
  const [made, setMade] = useState<NewKeyView>();
  const queries = useQueryClient();
  const isOperator = useIsOperator();
  const set = (part: Partial<Wanted>): void => setWanted({ ...wanted, ...part });
  if (made) return <Secret wanted={wanted} made={made} onClose={onClose} />;
  const make = async (): Promise<void> => {
    const { name, management, jobs, accountId } = wanted;
    const endpointIds = wanted.endpoints.map(({ id }) => id);
    const restricted = wanted.scope === 'RESTRICTED' ? { management, jobs } : {};
    setMade(await ask<NewKeyView>('POST', '/api/keys', {
      name, scope: wanted.scope, ...restricted, ...(wanted.scope === 'AGENT' ? {} : { accountId, endpointIds }),
    }));
    await queries.invalidateQueries({ queryKey: ['list', '/api/keys'] });
  };
  return (
    <DialogForm title={wanted.scope === 'AGENT' ? 'Join a machine' : 'New key'} action="Create" onSubmit={make} onClose={onClose}>
      <div className="form">
        <div>
          <label htmlFor="key-name">Name</label>
          <input id="key-name" required maxLength={191} value={wanted.name} onChange={({ target }) => set({ name: target.value })} />
          <p className="hint">For people: who uses it, or which machine.</p>
        </div>
        <Choose id="key-scope" label="It may" value={wanted.scope} onChange={(next) => set({ scope: next })}
          choices={Object.entries(SCOPES).filter(([word]) => isOperator || word !== 'AGENT')} />
        {isOperator && wanted.scope !== 'AGENT' && <Account value={wanted.accountId} onChange={(accountId) => set({ accountId })} />}
        {wanted.scope === 'RESTRICTED' && <>
          <Choose
            id="key-management" label="With endpoints, pods and the like" value={wanted.management} choices={PERMISSIONS}
            onChange={(management) => set({ management })}
          />
          <Choose id="key-jobs" label="With jobs" value={wanted.jobs} choices={PERMISSIONS} onChange={(jobs) => set({ jobs })} />
        </>}
      </div>
      {!isOperator && wanted.scope !== 'AGENT' && <Endpoints chosen={wanted.endpoints} onChange={(endpoints) => set({ endpoints })} />}
    </DialogForm>
  );
}

function Choose({ id, label, value, choices, onChange }: {
  id: string; label: string; value: string; choices: readonly (readonly [string, string])[]; onChange: (value: string) => void;
}) {
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <select id={id} required value={value} onChange={({ target }) => onChange(target.value)}>
        {choices.map(([word, text]) => <option key={word} value={word}>{text}</option>)}
      </select>
    </div>
  );
}

function Account({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { data } = useQuery({ queryKey: ['choices', 'accounts'], queryFn: () => ask<ListView>('GET', '/api/accounts?size=1000') });
  const choices = data?.rows.map(({ id, name }) => [String(id), `${name} · ${id}`] as const) ?? [];
  return <Choose id="key-account" label="Account" value={value} choices={[['', 'choose …'], ...choices]} onChange={onChange} />;
}

/** All that are chosen, and of the others those that core finds. */
function Endpoints({ chosen, onChange }: { chosen: readonly Offered[]; onChange: (endpoints: readonly Offered[]) => void }) {
  const [search, setSearch] = useState('');
  const [settled] = useDebounce(search.trim(), PAUSE_MS);
  const asked = new URLSearchParams({ search: settled, size: String(OFFERED_MAX) });
  const { data, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['choices', 'endpoints', settled], queryFn: () => ask<ListView>('GET', `/api/endpoints?${asked}`), placeholderData: keepPreviousData,
  });
  if (!data) return null;
  const isSought = search !== '' || settled !== '' || isPlaceholderData;
  const others = data.rows.map(({ id, name }) => ({ id: String(id), name: String(name) })).filter((one) => !chosen.some(({ id }) => id === one.id));
  if (data.rows.length === 0 && chosen.length === 0 && !isSought) return null;
  return (
    <fieldset className="choose">
      <legend>Only for these endpoints; none chosen: for all</legend>
      {(isSought || data.next !== '') && (
        <input type="search" aria-label="Find an endpoint" placeholder="find an endpoint" maxLength={200} value={search}
          onChange={({ target }) => setSearch(target.value)} />
      )}
      <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />
      {[...chosen, ...others].map((one) => (
        <label key={one.id}>
          <input
            type="checkbox" checked={chosen.some(({ id }) => id === one.id)}
            onChange={({ target }) => onChange(target.checked ? [...chosen, one] : chosen.filter(({ id }) => id !== one.id))}
          />
          {one.name} <code className="id">{one.id}</code>
        </label>
      ))}
      {data.rows.length === 0 && isSought && !isPlaceholderData && <p className="hint">No endpoint has that in it.</p>}
      {data.next !== '' && <p className="hint">There are more: search for them.</p>}
    </fieldset>
  );
}

function Secret({ wanted, made: { secret }, onClose }: { wanted: Wanted; made: NewKeyView; onClose: () => void }) {
  return (
    <Dialog title={`Key “${wanted.name}”`} onClose={onClose}>
      <div className="body">
        <p>Copy it now: it is shown this once, and stored hashed.</p>
        <p><code className="secret" tabIndex={0} role="group" aria-label="The key">{secret}</code></p>
        {wanted.scope === 'AGENT' && (
          <p>On the machine, put it into a file that only its agent can read and start the agent: <code>npx slipway agent --key-file FILE</code></p>
        )}
        <p><Copy text={secret} className="main" /></p>
      </div>
    </Dialog>
  );
}
