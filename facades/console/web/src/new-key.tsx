/** A new key: what it may do, and the key itself, which is shown once. */
import { useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ListView, NewKeyView } from '../../views.ts';
import { ask } from './api.ts';
import { Copy } from './copy.tsx';
import { Dialog, DialogForm } from './dialog.tsx';
import { useIsOperator } from './session.tsx';
import { count } from './words.ts';

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
  endpointIds: readonly string[];
}

/** The form in its dialog, then the key. `scope`: what it begins with. */
export function NewKey({ scope = 'ALL', onClose }: { scope?: string; onClose: () => void }) {
  const [wanted, setWanted] = useState<Wanted>({ name: '', scope, accountId: '', management: 'READ', jobs: 'READ', endpointIds: [] });
  const [made, setMade] = useState<NewKeyView>();
  const queries = useQueryClient();
  const isOperator = useIsOperator();
  const set = (part: Partial<Wanted>): void => setWanted({ ...wanted, ...part });
  if (made) return <Secret wanted={wanted} made={made} onClose={onClose} />;
  const make = async (): Promise<void> => {
    const { name, management, jobs, accountId, endpointIds } = wanted;
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
      {!isOperator && wanted.scope !== 'AGENT' && <Endpoints chosen={wanted.endpointIds} onChange={(endpointIds) => set({ endpointIds })} />}
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

function Endpoints({ chosen, onChange }: { chosen: readonly string[]; onChange: (ids: readonly string[]) => void }) {
  const { data = [] } = useQuery({ queryKey: ['choices', 'endpoints'], queryFn: () => ask<{ id: string; name: string }[]>('GET', '/api/v1/endpoints') });
  const [search, setSearch] = useState('');
  if (data.length === 0) return null;
  const wanted = search.trim().toLowerCase();
  const isChosen = ({ id }: { id: string }): boolean => chosen.includes(id);
  const fitting = data.filter((one) => !isChosen(one) && `${one.name} ${one.id}`.toLowerCase().includes(wanted));
  return (
    <fieldset className="choose">
      <legend>Only for these endpoints; none chosen: for all</legend>
      {data.length > OFFERED_MAX && (
        <input type="search" aria-label="Find an endpoint" placeholder="find an endpoint" value={search} onChange={({ target }) => setSearch(target.value)} />
      )}
      {[...data.filter(isChosen), ...fitting.slice(0, OFFERED_MAX)].map(({ id, name }) => (
        <label key={id}>
          <input
            type="checkbox" checked={chosen.includes(id)}
            onChange={({ target }) => onChange(target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))}
          />
          {name} <code className="id">{id}</code>
        </label>
      ))}
      {fitting.length > OFFERED_MAX && <p className="hint">and {count(fitting.length - OFFERED_MAX)} more: search for them</p>}
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
