/** Creates an API key, and shows it once. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { NewKeyView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { useIsOperator } from '../lib/session.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import type { Offer, Picked } from './pick.tsx';
import { Pick } from './pick.tsx';

const SCOPES: Readonly<Record<string, string>> = {
  ALL: 'everything in its account',
  READ_ONLY: 'read everything, change nothing',
  RESTRICTED: 'what is chosen below',
  AGENT: 'join one machine',
};
const PERMISSIONS = [
  ['NONE', 'nothing'],
  ['READ', 'read'],
  ['READ_WRITE', 'read and change'],
] as const;

const ACCOUNTS: Offer = {
  path: '/api/accounts',
  what: 'account',
  none: 'There is no account yet. Create one under Accounts first.',
};
const ENDPOINTS: Offer = { path: '/api/endpoints', what: 'endpoint' };

interface Wanted {
  name: string;
  scope: string;
  account: readonly Picked[];
  management: string;
  jobs: string;
  endpoints: readonly Picked[];
}

const EMPTY: Omit<Wanted, 'scope'> = { name: '', account: [], management: 'READ', jobs: 'READ', endpoints: [] };

/** Shows the form in its dialog, then the key. `scope` is the choice that the form begins with. */
export function NewKey({ scope = 'ALL', onClose }: { scope?: string; onClose: () => void }) {
  const [wanted, setWanted] = useState<Wanted>({ ...EMPTY, scope });
  const [made, setMade] = useState<NewKeyView>();
  const queries = useQueryClient();
  const isOperator = useIsOperator();
  const set = (part: Partial<Wanted>): void => setWanted({ ...wanted, ...part });
  if (made) return <Secret wanted={wanted} made={made} onClose={onClose} />;
  const make = async (): Promise<void> => {
    const { name, management, jobs } = wanted;
    const accountId = wanted.account[0]?.id ?? '';
    const endpointIds = wanted.endpoints.map(({ id }) => id);
    const restricted = wanted.scope === 'RESTRICTED' ? { management, jobs } : {};
    setMade(
      await ask<NewKeyView>('POST', '/api/keys', {
        name,
        scope: wanted.scope,
        ...restricted,
        ...(wanted.scope === 'AGENT' ? {} : { accountId, endpointIds }),
      }),
    );
    await queries.invalidateQueries({ queryKey: ['list', '/api/keys'] });
  };
  return (
    <DialogForm
      title={wanted.scope === 'AGENT' ? 'Join a machine' : 'New key'}
      action="Create"
      onSubmit={make}
      onClose={onClose}
    >
      <KeyFields wanted={wanted} set={set} isOperator={isOperator} />
    </DialogForm>
  );
}

function KeyFields({
  wanted,
  set,
  isOperator,
}: {
  wanted: Wanted;
  set: (part: Partial<Wanted>) => void;
  isOperator: boolean;
}) {
  const { name, scope, account, endpoints } = wanted;
  return (
    <>
      <div className="form">
        <div>
          <label htmlFor="key-name">Name</label>
          <input
            id="key-name"
            required
            maxLength={191}
            value={name}
            onChange={({ target }) => set({ name: target.value })}
          />
          <p className="hint">For people: who uses it, or which machine.</p>
        </div>
        <Choose
          id="key-scope"
          label="It may"
          value={scope}
          onChange={(next) => set({ scope: next })}
          choices={Object.entries(SCOPES).filter(([word]) => isOperator || word !== 'AGENT')}
        />
        {isOperator && scope !== 'AGENT' && (
          <Pick legend="Account" offer={ACCOUNTS} how="one" chosen={account} onChange={(account) => set({ account })} />
        )}
        {scope === 'RESTRICTED' && <Permissions wanted={wanted} set={set} />}
      </div>
      {!isOperator && scope !== 'AGENT' && (
        <Pick
          legend="Only for these endpoints (none chosen: all)"
          offer={ENDPOINTS}
          how="some or none"
          chosen={endpoints}
          onChange={(endpoints) => set({ endpoints })}
        />
      )}
    </>
  );
}

/** Selects the permissions of a restricted key. */
function Permissions({ wanted, set }: { wanted: Wanted; set: (part: Partial<Wanted>) => void }) {
  return (
    <>
      <Choose
        id="key-management"
        label="With endpoints, pods and the like"
        value={wanted.management}
        choices={PERMISSIONS}
        onChange={(management) => set({ management })}
      />
      <Choose
        id="key-jobs"
        label="With jobs"
        value={wanted.jobs}
        choices={PERMISSIONS}
        onChange={(jobs) => set({ jobs })}
      />
    </>
  );
}

function Choose({
  id,
  label,
  value,
  choices,
  onChange,
}: {
  id: string;
  label: string;
  value: string;
  choices: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <select id={id} required value={value} onChange={({ target }) => onChange(target.value)}>
        {choices.map(([word, text]) => (
          <option key={word} value={word}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

function Secret({ wanted, made: { secret }, onClose }: { wanted: Wanted; made: NewKeyView; onClose: () => void }) {
  return (
    <Dialog title={`Key “${wanted.name}”`} onClose={onClose}>
      <div className="body">
        <p>Copy it now: it is shown only once. Only its hash is stored.</p>
        <p>
          <code className="secret" tabIndex={0} role="group" aria-label="The key">
            {secret}
          </code>
        </p>
        {wanted.scope === 'AGENT' && (
          <p>
            On the machine, put it into a file that only its agent can read and start the agent:{' '}
            <code>npx slipway agent --key-file FILE</code>
          </p>
        )}
        <p>
          <CopyButton text={secret} className="main" />
        </p>
      </div>
    </Dialog>
  );
}
