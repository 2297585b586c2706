/** The settings of an endpoint as the table of the resource has them, and what changes to its scaling would have come to. */
import { useState } from 'react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { FieldView, WhatIfView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Failed, Loading, Panel } from '../parts.tsx';
import { useSession } from '../session.tsx';
import { WhatIf } from './what-if.tsx';

type Values = Record<string, unknown>;

/** What the model of scaling knows. */
const MODELLED = ['workersMin', 'workersMax', 'idleTimeout', 'scalerType', 'scalerValue', 'flashboot'];

/** The part. */
export function Settings({ id }: { id: string }) {
  const fields = useQuery({ queryKey: ['fields', 'endpoint'], queryFn: () => ask<FieldView[]>('GET', '/api/fields/endpoint'), staleTime: Infinity });
  const endpoint = useQuery({ queryKey: ['endpoint', id], queryFn: () => ask<Values>('GET', `/api/v1/endpoints/${id}`) });
  const failed = fields.error ?? endpoint.error;
  if (failed) return <Panel title="Settings"><Failed error={failed} again={() => void endpoint.refetch()} /></Panel>;
  if (!fields.data || !endpoint.data) return <Loading />;
  return <Editor key={JSON.stringify(endpoint.data)} id={id} fields={fields.data} values={endpoint.data} />;
}

function Editor({ id, fields, values }: { id: string; fields: readonly FieldView[]; values: Values }) {
  const [changes, setChanges] = useState<Values>({});
  const queries = useQueryClient();
  const mayChange = useSession().manage === 'write';
  const save = useMutation({
    mutationFn: () => ask<Values>('PATCH', `/api/v1/endpoints/${id}`, changes),
    onSuccess: (now) => queries.setQueryData(['endpoint', id], now),
  });
  const whatIf = useMutation({ mutationFn: (asked: Values) => ask<WhatIfView>('POST', `/api/endpoints/${id}/what-if`, asked) });
  const modelled = Object.fromEntries(Object.entries(changes).filter(([name]) => MODELLED.includes(name)));
  const change = (name: string, value: unknown): void => {
    const { [name]: _before, ...others } = changes;
    setChanges(JSON.stringify(value) === JSON.stringify(values[name]) ? others : { ...changes, [name]: value });
  };
  const names = Object.keys(changes);
  return (
    <>
      <Panel title="Settings" aside={names.length === 0 ? 'as they are' : `${names.length} changed, not saved`}>
        <div className="form">
          {fields.filter(({ kind }) => kind !== 'variables' && kind !== 'command').map((field) => (
            <Field key={field.name} field={field} value={changes[field.name] ?? values[field.name]} isChanged={field.name in changes}
              isFixed={field.fixed || !mayChange} onChange={(value) => change(field.name, value)} />
          ))}
        </div>
        <div className="more">
          <button type="button" className="main" disabled={names.length === 0 || save.isPending} onClick={() => save.mutate()}>Save</button>
          <button type="button" disabled={names.length === 0} onClick={() => setChanges({})}>Put back</button>
          <button type="button" disabled={whatIf.isPending} onClick={() => whatIf.mutate(modelled)}>
            {whatIf.isPending ? 'Computing …' : 'What would happen?'}
          </button>
          {!mayChange && <span className="hint">This key may not change it.</span>}
          {save.error && <span role="alert" className="failure">{save.error.message}</span>}
        </div>
      </Panel>
      {whatIf.error && <Failed error={whatIf.error} />}
      {whatIf.data && <WhatIf answer={whatIf.data} changed={Object.keys(modelled)} />}
    </>
  );
}

function Field({ field, value, isChanged, isFixed, onChange }: {
  field: FieldView; value: unknown; isChanged: boolean; isFixed: boolean; onChange: (value: unknown) => void;
}) {
  const { name, about, min, max } = field;
  const bounds = max === undefined || max > 1e9 ? '' : ` ${min ?? 0} – ${max.toLocaleString('en')}.`;
  return (
    <div className={isChanged ? 'changed' : ''}>
      <label htmlFor={`field-${name}`}>{name}</label>
      <Input field={field} value={value} isFixed={isFixed} onChange={onChange} />
      <p className="hint" id={`about-${name}`}>{about}{bounds}</p>
    </div>
  );
}

function Input({ field: { name, kind, min, max, words }, value, isFixed, onChange }: {
  field: FieldView; value: unknown; isFixed: boolean; onChange: (value: unknown) => void;
}) {
  const shared = { id: `field-${name}`, disabled: isFixed, 'aria-describedby': `about-${name}` };
  switch (kind) {
    case 'whole': {
      const shown = typeof value === 'number' && !Number.isNaN(value) ? value : '';
      return <input {...shared} type="number" min={min} max={max} value={shown} onChange={({ target }) => onChange(target.valueAsNumber)} />;
    }
    case 'flag': case 'switch':
      return <input {...shared} type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />;
    case 'word':
      return (
        <select {...shared} value={String(value)} onChange={({ target }) => onChange(target.value)}>
          {words?.map((word) => <option key={word}>{word}</option>)}
        </select>
      );
    case 'texts':
      return <input {...shared} value={Array.isArray(value) ? value.join(', ') : ''} onChange={({ target }) => onChange(listOf(target.value))} />;
    default:
      return <input {...shared} value={String(value ?? '')} onChange={({ target }) => onChange(target.value)} />;
  }
}

function listOf(text: string): string[] {
  return text.split(',').map((part) => part.trimStart()).filter((part, index, all) => part !== '' || index === all.length - 1 && all.length > 1);
}
