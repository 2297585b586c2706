/** Changing a template, a network volume or a pod: its settings as they are, what is changed, and what that will do. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { FieldView, ListView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { count } from '../lib/words.ts';
import { FORMS } from './create.tsx';
import { DialogForm } from './dialog.tsx';
import { Field } from './fields.tsx';
import { Failed, Loading } from './parts.tsx';

type Values = Readonly<Record<string, unknown>>;

/** What can be changed. */
export type Editable = 'template' | 'volume' | 'pod';

/** Settings of a pod that do not begin it anew. */
const KEPT = ['name', 'locked'];
/** Endpoints that are named, and those that are counted. */
const NAMED_MAX = 5;
const COUNTED_MAX = 1_000;

/** The form in its dialog. `shown`: the console's list of it. */
export function Edit({
  kind,
  id,
  name,
  shown,
  onClose,
}: {
  kind: Editable;
  id: string;
  name: string;
  shown: string;
  onClose: () => void;
}) {
  const path = `${FORMS[kind].path}/${id}`;
  const fields = useQuery({
    queryKey: ['fields', kind],
    queryFn: () => ask<FieldView[]>('GET', `/api/fields/${kind}`),
    staleTime: Infinity,
  });
  // Never from before: whoever saves sees what is there now.
  const before = useQuery({
    queryKey: ['edit', path],
    queryFn: () => ask<Values>('GET', path),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const [changes, setChanges] = useState<Values>({});
  const queries = useQueryClient();
  const names = Object.keys(changes);
  const save = async (): Promise<void> => {
    await ask('PATCH', path, changes);
    onClose();
    await queries.invalidateQueries({ queryKey: ['list', shown] });
  };
  const change = (field: string, value: unknown): void => {
    const { [field]: _before, ...others } = changes;
    setChanges(
      JSON.stringify(value) === JSON.stringify(before.data?.[field])
        ? others
        : { ...changes, [field]: Number.isNaN(value) ? null : value },
    );
  };
  const failed = fields.error ?? before.error;
  const settings = fields.data?.filter(
    (field) => !field.fixed && !(kind === 'template' && field.name === 'isServerless'),
  );
  return (
    <DialogForm title={`Change ${name}`} action="Save" onSubmit={save} onClose={onClose} isReady={names.length > 0}>
      {failed ? (
        <Failed error={failed} />
      ) : !settings || !before.data ? (
        <Loading />
      ) : (
        <div className="form">
          {/* An image may be empty in one that is there. What else is wrong the service says. */}
          {settings.map((field) => (
            <Field
              key={field.name}
              field={{ ...field, required: field.kind === 'whole' }}
              value={field.name in changes ? changes[field.name] : before.data[field.name]}
              isChanged={field.name in changes}
              onChange={(value) => change(field.name, value)}
            />
          ))}
        </div>
      )}
      {before.data && names.length > 0 && (
        <p className="body outlook" role="status">
          <strong>What will happen:</strong>{' '}
          <Outlook kind={kind} id={id} names={names} fields={settings ?? []} before={before.data} />
        </p>
      )}
    </DialogForm>
  );
}

function Outlook({
  kind,
  id,
  names,
  fields,
  before,
}: {
  kind: Editable;
  id: string;
  names: readonly string[];
  fields: readonly FieldView[];
  before: Values;
}) {
  switch (kind) {
    case 'template':
      return <OfTemplate id={id} isNoticed={fields.some(({ name, inPlace }) => !inPlace && names.includes(name))} />;
    case 'volume':
      return names.includes('size')
        ? 'It grows and is metered by its new size; its files stay. It can never be made smaller.'
        : 'It has another name.';
    case 'pod':
      if (names.every((name) => KEPT.includes(name))) return 'What runs goes on.';
      return before['desiredStatus'] === 'RUNNING'
        ? 'The pod is reset: it is stopped and starts anew, and the files on its own disk are gone. A network volume stays.'
        : 'It is stopped, and has the new settings when it is started.';
  }
}

function OfTemplate({ id, isNoticed }: { id: string; isNoticed: boolean }) {
  const asked = new URLSearchParams({ 'filter.template': id, size: String(COUNTED_MAX) });
  const { data } = useQuery({
    queryKey: ['uses', id],
    queryFn: () => ask<ListView>('GET', `/api/endpoints?${asked}`),
    enabled: isNoticed,
  });
  if (!isNoticed) return 'No worker is replaced.';
  if (!data) return 'Workers of the endpoints that use it are replaced.';
  const { rows: users, next } = data;
  if (users.length === 0) return 'No endpoint of this account uses it.';
  const told = users
    .slice(0, NAMED_MAX)
    .map(({ name }) => `“${name}”`)
    .join(', ');
  const more =
    users.length <= NAMED_MAX ? '' : ` and ${next === '' ? '' : 'over '}${count(users.length - NAMED_MAX)} more`;
  const whose =
    users.length === 1
      ? `The endpoint ${told} gets`
      : `${next === '' ? '' : 'Over '}${count(users.length)} endpoints get`;
  const which = users.length === 1 ? '' : `: ${told}${more}`;
  return `${whose} a new version${which}. Its workers finish what they hold, and others take their place.`;
}
