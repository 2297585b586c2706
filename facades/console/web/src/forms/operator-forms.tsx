/** Forms of the operator: accounts, quotas, prices. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../lib/api.ts';
import type { Row } from '../listing/rows-table.tsx';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

const QUOTA = [
  ['workers', 'Workers', 'At once, of all its endpoints.'],
  ['gpus', 'GPUs', 'At once, of its workers and pods.'],
  ['queuedJobs', 'Queued jobs', 'Of all its endpoints.'],
  ['requests', 'Requests', 'To one endpoint in 10 seconds. Its workers add to that.'],
  ['gpuWeight', 'Weight', 'Its share when GPUs are scarce. Default 1.'],
] as const;

/** Creates an account. It has no keys yet. */
export function NewAccount({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const done = useDone('/api/accounts', onClose);
  return (
    <DialogForm
      title="New account"
      action="Create"
      onSubmit={() => ask('POST', '/api/accounts', { name }).then(done)}
      onClose={onClose}
    >
      <div className="form">
        <div>
          <label htmlFor="account-name">Name</label>
          <input
            id="account-name"
            required
            maxLength={191}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
          <p className="hint">Then make its first key under Keys.</p>
        </div>
      </div>
    </DialogForm>
  );
}

/** Sets the quotas of an account. */
export function Quota({ row }: { row: Row }) {
  const { id, name } = row as { id: string; name: string };
  return (
    <DialogButton text="Quota" spoken={name}>
      {(close) => <QuotaForm id={id} name={name} row={row} onClose={close} />}
    </DialogButton>
  );
}

function QuotaForm({ id, name, row, onClose }: { id: string; name: string; row: Row; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, number>>(() =>
    Object.fromEntries(QUOTA.flatMap(([field]) => (typeof row[field] === 'number' ? [[field, row[field]]] : []))),
  );
  const done = useDone('/api/accounts', onClose);
  const set = (field: string, value: number): void => {
    const { [field]: _before, ...others } = values;
    setValues(Number.isNaN(value) ? others : { ...others, [field]: value });
  };
  return (
    <DialogForm
      title={`Quota of ${name}`}
      action="Save"
      onSubmit={() => ask('POST', `/api/accounts/${id}/quota`, values).then(done)}
      onClose={onClose}
    >
      <div className="form">
        {QUOTA.map(([field, label, about]) => (
          <div key={field}>
            <label htmlFor={`quota-${field}`}>{label}</label>
            <input
              id={`quota-${field}`}
              type="number"
              min={0}
              step={1}
              value={values[field] ?? ''}
              placeholder="no limit"
              aria-describedby={`about-quota-${field}`}
              onChange={({ target }) => set(field, target.valueAsNumber)}
            />
            <p className="hint" id={`about-quota-${field}`}>
              {about}
            </p>
          </div>
        ))}
      </div>
    </DialogForm>
  );
}

/** Sets the price of a unit; without `row` a new one. */
export function Price({ row, onClose }: { row?: Row; onClose: () => void }) {
  const [item, setItem] = useState(String(row?.['item'] ?? ''));
  const [usdPerHour, setPrice] = useState(Number(row?.['usdPerHour'] ?? 0));
  const done = useDone('/api/prices', onClose);
  return (
    <DialogForm
      title={row ? `Price of ${item}` : 'Set a price'}
      action="Save"
      onClose={onClose}
      onSubmit={() => ask('POST', '/api/prices', { item, usdPerHour }).then(done)}
    >
      <div className="form">
        <div>
          <label htmlFor="price-item">Item</label>
          <input
            id="price-item"
            required
            maxLength={191}
            value={item}
            disabled={row !== undefined}
            onChange={({ target }) => setItem(target.value)}
          />
          <p className="hint">
            A GPU type as machines name it, <code>CPU</code>, or <code>VOLUME_GB</code>.
          </p>
        </div>
        <div>
          <label htmlFor="price-usd">US dollars an hour</label>
          <input
            id="price-usd"
            type="number"
            required
            min={0}
            step="any"
            value={Number.isNaN(usdPerHour) ? '' : usdPerHour}
            onChange={({ target }) => setPrice(target.valueAsNumber)}
          />
          <p className="hint">What runs already keeps the price it started with.</p>
        </div>
      </div>
    </DialogForm>
  );
}

function useDone(path: string, onClose: () => void): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    onClose();
    await queries.invalidateQueries({ queryKey: ['list', path] });
  };
}
