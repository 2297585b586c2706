/** GPU types in order of preference: those of connected machines with how many are free now, and others by name. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { GpuTypeView } from '../../../views-of-settings.ts';
import { ask } from '../lib/api.ts';
import { unbroken } from '../lib/format.ts';

interface GpuTypesProps {
  label: string;
  about: string;
  chosen: readonly string[];
  isFixed: boolean;
  onChange: (chosen: string[]) => void;
}

/** Shows the choice. None chosen: any type. */
export function GpuTypes({ label, about, chosen, isFixed, onChange }: GpuTypesProps) {
  const [other, setOther] = useState('');
  const { data: fleet } = useQuery({
    queryKey: ['gpu-types'],
    queryFn: () => ask<readonly GpuTypeView[]>('GET', '/api/gpu-types'),
  });
  const elsewhere = chosen.filter((id) => !fleet?.some((type) => type.id === id));
  const toggle = (id: string, isOn: boolean): void =>
    onChange(isOn ? [...chosen, id] : chosen.filter((each) => each !== id));
  const add = (): void => {
    const name = other.trim();
    if (name !== '' && !chosen.includes(name)) onChange([...chosen, name]);
    setOther('');
  };
  const option = (id: string, text: string) => (
    <label key={id}>
      <input type="checkbox" checked={chosen.includes(id)} onChange={({ target }) => toggle(id, target.checked)} />
      <span>
        {id} <span className="hint">{text}</span>
      </span>
    </label>
  );
  return (
    <fieldset className="choose" disabled={isFixed}>
      <legend>{label}</legend>
      {chosen.length > 1 && (
        <p>
          In this order: <strong>{chosen.join(', ')}</strong>
        </p>
      )}
      <div className="offered">
        {(fleet ?? []).map(({ id, memoryGb, total, free }) =>
          option(id, unbroken(`${memoryGb > 0 ? `${memoryGb} GB, ` : ''}${free} of ${total} free now`)),
        )}
        {elsewhere.map((id) => option(id, fleet ? 'on no connected machine' : ''))}
      </div>
      {fleet?.length === 0 && elsewhere.length === 0 && <p className="hint">No connected machine has a GPU.</p>}
      {!isFixed && (
        <p className="with-unit">
          <input
            aria-label="Another GPU type or pool"
            placeholder="another type or pool"
            maxLength={191}
            value={other}
            onChange={({ target }) => setOther(target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              add();
            }}
          />{' '}
          <button type="button" disabled={other.trim() === ''} onClick={add}>
            Add
          </button>
        </p>
      )}
      <p className="hint">{about}</p>
    </fieldset>
  );
}
