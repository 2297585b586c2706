/**
 * The Settings tab: the settings of an endpoint from the resource table, and the effect of scaling changes on recorded
 * traffic.
 */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { FieldView, WhatIfView } from '../../../views.ts';
import type { EndpointSettingsView } from '../../../views-of-settings.ts';
import { GroupedFields } from '../forms/grouped-fields.tsx';
import { OF_WORKERS, OfferField } from '../forms/offers.tsx';
import { Remove } from '../forms/remove.tsx';
import { useFields } from '../forms/use-fields.ts';
import { ask } from '../lib/api.ts';
import { useSession } from '../lib/session.tsx';
import { textOf } from '../lib/setting-words.ts';
import { Failed, Loading, Panel } from '../ui/parts.tsx';
import { WhatIf } from './what-if.tsx';

type Values = Record<string, unknown>;

/** Settings that the scaling model knows. */
const MODELLED = ['workersMin', 'workersMax', 'idleTimeout', 'scalerType', 'scalerValue', 'flashboot'];

/** Shows the tab. */
export function Settings({ id }: { id: string }) {
  const fields = useFields('endpoint');
  const container = useFields('own-template');
  const endpoint = useQuery({
    queryKey: ['settings', id],
    queryFn: () => ask<EndpointSettingsView>('GET', `/api/endpoints/${id}/settings`),
  });
  const failed = fields.error ?? container.error ?? endpoint.error;
  if (failed)
    return (
      <Panel title="Settings">
        <Failed error={failed} again={() => void endpoint.refetch()} />
      </Panel>
    );
  if (!fields.data || !container.data || !endpoint.data) return <Loading />;
  const { template } = endpoint.data;
  // A command on the host needs no image.
  const own = template.isOwn ? container.data.map((field) => ({ ...field, required: false })) : [];
  const ownNames = own.map(({ name }) => name);
  const shared = fields.data.filter(
    ({ name }) => !ownNames.includes(name) && !(template.isOwn && name === 'templateId'),
  );
  return (
    <Editor
      key={JSON.stringify(endpoint.data)}
      id={id}
      saved={endpoint.data}
      fields={[...shared, ...own]}
      ownNames={ownNames}
    />
  );
}

interface EditorProps {
  id: string;
  saved: EndpointSettingsView;
  fields: readonly FieldView[];
  /** Settings of the endpoint's own template. */
  ownNames: readonly string[];
}

function Editor({ id, saved, fields, ownNames }: EditorProps) {
  const [changes, setChanges] = useState<Values>({});
  // Fields that hold text of their own start anew when changes are discarded.
  const [round, setRound] = useState(0);
  const queries = useQueryClient();
  const mayChange = useSession().manage === 'write';
  const { template } = saved;
  const before: Values = { ...saved.settings, ...(template.isOwn && template.values) };
  const names = Object.keys(changes);
  const part = (isOwn: boolean): Values =>
    Object.fromEntries(Object.entries(changes).filter(([name]) => ownNames.includes(name) === isOwn));
  const save = useMutation({
    mutationFn: () => {
      const own = part(true);
      const body = { settings: part(false), ...(Object.keys(own).length > 0 && { template: own }) };
      return ask<EndpointSettingsView>('PATCH', `/api/endpoints/${id}/settings`, body);
    },
    onSuccess: (now) => queries.setQueryData(['settings', id], now),
  });
  const whatIf = useWhatIf(id);
  const modelled = Object.fromEntries(Object.entries(changes).filter(([name]) => MODELLED.includes(name)));
  const change = ({ name }: FieldView, value: unknown): void => {
    const { [name]: _before, ...others } = changes;
    setChanges(JSON.stringify(value) === JSON.stringify(before[name]) ? others : { ...changes, [name]: value });
  };
  const [ofTemplate] = fields.filter(({ name }) => name === 'templateId');
  return (
    <>
      <Panel title="Settings" aside={names.length === 0 ? 'as saved' : `${names.length} changed, not saved`}>
        {ofTemplate && (
          <TemplateChoice
            key={round}
            field={ofTemplate}
            value={before['templateId']}
            template={template}
            isFixed={!mayChange}
            onChange={(value) => change(ofTemplate, value)}
          />
        )}
        <GroupedFields
          key={`groups ${round}`}
          fields={fields.filter(({ name }) => name !== 'templateId')}
          values={{ ...before, ...changes }}
          changed={names}
          isFixed={({ fixed }) => fixed || !mayChange}
          onChange={change}
        />
        {names.length > 0 && (
          <p className="body outlook" role="status">
            <strong>What will happen:</strong> {outlook(fields, names)}
          </p>
        )}
        <Actions
          mayChange={mayChange}
          isChanged={names.length > 0}
          save={save}
          onDiscard={() => {
            setChanges({});
            setRound(round + 1);
          }}
          isComputing={whatIf.isPending}
          onWhatIf={() => whatIf.mutate(modelled)}
        />
      </Panel>
      {whatIf.error && <Failed error={whatIf.error} />}
      {whatIf.data && <WhatIf answer={whatIf.data} changed={labelsOf(fields, Object.keys(modelled))} />}
      {mayChange && <End id={id} name={String(before['name'] ?? id)} />}
    </>
  );
}

function useWhatIf(id: string) {
  return useMutation({
    mutationFn: (asked: Values) => ask<WhatIfView>('POST', `/api/endpoints/${id}/what-if`, asked),
  });
}

interface TemplateChoiceProps {
  field: FieldView;
  value: unknown;
  template: { id: string; name: string };
  isFixed: boolean;
  onChange: (value: unknown) => void;
}

function TemplateChoice({ template, ...props }: TemplateChoiceProps) {
  return (
    <div className="form">
      <OfferField {...props} offer={OF_WORKERS} names={{ [template.id]: template.name }} />
    </div>
  );
}

interface ActionsProps {
  mayChange: boolean;
  isChanged: boolean;
  save: { isPending: boolean; error: Error | null; mutate: () => void };
  onDiscard: () => void;
  isComputing: boolean;
  onWhatIf: () => void;
}

function Actions({ mayChange, isChanged, save, onDiscard, isComputing, onWhatIf }: ActionsProps) {
  return (
    <div className="more">
      <button type="button" className="main" disabled={!isChanged || save.isPending} onClick={() => save.mutate()}>
        Save
      </button>
      <button type="button" disabled={!isChanged} onClick={onDiscard}>
        Discard changes
      </button>
      <button type="button" disabled={isComputing} onClick={onWhatIf}>
        {isComputing ? 'Computing …' : 'What would happen?'}
      </button>
      {!mayChange && <span className="hint">This key may not change it.</span>}
      {save.error && (
        <span role="alert" className="failure">
          {save.error.message}
        </span>
      )}
    </div>
  );
}

function labelsOf(fields: readonly FieldView[], names: readonly string[]): string[] {
  return fields.filter(({ name }) => names.includes(name)).map((field) => textOf(field).label);
}

/** Returns a text about the effect of saving. */
function outlook(fields: readonly FieldView[], names: readonly string[]): string {
  const replacing = fields.filter(({ name, inPlace }) => names.includes(name) && !inPlace).map(({ name }) => name);
  if (replacing.length === 0) return 'No worker is replaced. It applies from the next scaling pass and to new jobs.';
  const why = labelsOf(fields, replacing).join(', ');
  return `The endpoint gets a new version, for ${why}: its workers finish their jobs and are replaced.`;
}

/** Deletes the endpoint. Core requires that it has no workers first. */
function End({ id, name }: { id: string; name: string }) {
  const [, go] = useLocation();
  const list = '/api/v1/endpoints';
  const stopWorkers = (): Promise<unknown> => ask('PATCH', `${list}/${id}`, { workersMin: 0, workersMax: 0 });
  return (
    <Panel title="Delete this endpoint">
      <div className="more">
        <Remove id={id} name={name} list={list} before={stopWorkers} onDone={() => go('/')} />
        <span className="hint">Its workers are stopped and its jobs are deleted.</span>
      </div>
    </Panel>
  );
}
