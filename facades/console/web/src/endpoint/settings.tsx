/**
 * The Settings tab: the settings of an endpoint from the resource table, and the effect of scaling changes on recorded
 * traffic.
 */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { FieldView, WhatIfView } from '../../../views.ts';
import { Field } from '../forms/fields.tsx';
import { Remove } from '../forms/remove.tsx';
import { ask } from '../lib/api.ts';
import { useSession } from '../lib/session.tsx';
import { Failed, Loading, Panel } from '../ui/parts.tsx';
import { WhatIf } from './what-if.tsx';

type Values = Record<string, unknown>;

/** Settings that the scaling model knows. */
const MODELLED = ['workersMin', 'workersMax', 'idleTimeout', 'scalerType', 'scalerValue', 'flashboot'];

/** Shows the tab. */
export function Settings({ id }: { id: string }) {
  const fields = useQuery({
    queryKey: ['fields', 'endpoint'],
    queryFn: () => ask<FieldView[]>('GET', '/api/fields/endpoint'),
    staleTime: Infinity,
  });
  const endpoint = useQuery({
    queryKey: ['endpoint', id],
    queryFn: () => ask<Values>('GET', `/api/v1/endpoints/${id}`),
  });
  const failed = fields.error ?? endpoint.error;
  if (failed)
    return (
      <Panel title="Settings">
        <Failed error={failed} again={() => void endpoint.refetch()} />
      </Panel>
    );
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
  const whatIf = useMutation({
    mutationFn: (asked: Values) => ask<WhatIfView>('POST', `/api/endpoints/${id}/what-if`, asked),
  });
  const modelled = Object.fromEntries(Object.entries(changes).filter(([name]) => MODELLED.includes(name)));
  const change = (name: string, value: unknown): void => {
    const { [name]: _before, ...others } = changes;
    setChanges(JSON.stringify(value) === JSON.stringify(values[name]) ? others : { ...changes, [name]: value });
  };
  const names = Object.keys(changes);
  return (
    <>
      <Panel title="Settings" aside={names.length === 0 ? 'as saved' : `${names.length} changed, not saved`}>
        <div className="form">
          {fields.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={changes[field.name] ?? values[field.name]}
              isChanged={field.name in changes}
              isFixed={field.fixed || !mayChange}
              onChange={(value) => change(field.name, value)}
            />
          ))}
        </div>
        {names.length > 0 && (
          <p className="body outlook" role="status">
            <strong>What will happen:</strong> {outlook(fields, names)}
          </p>
        )}
        <div className="more">
          <button
            type="button"
            className="main"
            disabled={names.length === 0 || save.isPending}
            onClick={() => save.mutate()}
          >
            Save
          </button>
          <button type="button" disabled={names.length === 0} onClick={() => setChanges({})}>
            Discard changes
          </button>
          <button type="button" disabled={whatIf.isPending} onClick={() => whatIf.mutate(modelled)}>
            {whatIf.isPending ? 'Computing …' : 'What would happen?'}
          </button>
          {!mayChange && <span className="hint">This key may not change it.</span>}
          {save.error && (
            <span role="alert" className="failure">
              {save.error.message}
            </span>
          )}
        </div>
      </Panel>
      {whatIf.error && <Failed error={whatIf.error} />}
      {whatIf.data && <WhatIf answer={whatIf.data} changed={Object.keys(modelled)} />}
      {mayChange && <End id={id} name={String(values['name'] ?? id)} />}
    </>
  );
}

/** Returns a text about the effect of saving. */
function outlook(fields: readonly FieldView[], names: readonly string[]): string {
  const replacing = names.filter((name) => fields.some((field) => field.name === name && !field.inPlace));
  if (replacing.length === 0) return 'No worker is replaced. It applies from the next scaling pass and to new jobs.';
  const why = replacing.join(', ');
  return `The endpoint gets a new version, for ${why}: its workers finish their jobs and are replaced.`;
}

/** Deletes the endpoint. Core requires workersMin and workersMax to be 0 first. */
function End({ id, name }: { id: string; name: string }) {
  const [, go] = useLocation();
  const list = '/api/v1/endpoints';
  const stopWorkers = (): Promise<unknown> => ask('PATCH', `${list}/${id}`, { workersMin: 0, workersMax: 0 });
  return (
    <Panel title="Delete this endpoint">
      <div className="more">
        <Remove id={id} name={name} list={list} before={stopWorkers} onDone={() => go('/')} />
        <span className="hint">
          Its workers are stopped and its jobs are deleted. workersMin and workersMax are set to 0 first.
        </span>
      </div>
    </Panel>
  );
}
