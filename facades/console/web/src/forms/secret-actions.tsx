/** Actions for a secret: a new value, and its deletion with a warning of what mentions it. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../lib/api.ts';
import type { Row } from '../listing/rows-table.tsx';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { Remove } from './remove.tsx';

/** Shows the buttons. `list` is the REST collection, `shown` the console's list. */
export function SecretActions({ row, list, shown }: { row: Row; list: string; shown: string }) {
  const { id, name, usedBy } = row as { id: string; name: string; usedBy: string };
  const note = usedBy === '' ? undefined : `It is in use. Without it no new worker or pod starts of: ${usedBy}.`;
  return (
    <>
      <DialogButton text="Set value" spoken={name}>
        {(close) => <SetValue name={name} path={`${list}/${id}`} shown={shown} onClose={close} />}
      </DialogButton>
      <Remove id={id} name={name} list={list} shown={shown} note={note} />
    </>
  );
}

function SetValue({ name, path, shown, onClose }: { name: string; path: string; shown: string; onClose: () => void }) {
  const [value, setValue] = useState('');
  const queries = useQueryClient();
  const set = async (): Promise<void> => {
    await ask('PATCH', path, { value });
    onClose();
    await queries.invalidateQueries({ queryKey: ['list', shown] });
  };
  return (
    <DialogForm title={`New value of ${name}`} action="Set it" onSubmit={set} onClose={onClose}>
      <div className="form">
        <div>
          <label htmlFor="secret-value">Value</label>
          <input
            id="secret-value"
            type="password"
            autoComplete="new-password"
            required
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
          <p className="hint">New workers and pods get it. Running ones keep the old value until they are restarted.</p>
        </div>
      </div>
    </DialogForm>
  );
}
