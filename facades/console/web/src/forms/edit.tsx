/** Changes a template, a network volume or a pod. Before it is saved, the form says what the change will do. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { FieldView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { DialogForm } from '../ui/dialog.tsx';
import { Failed, Loading } from '../ui/parts.tsx';
import { FORMS } from './create.tsx';
import { Field } from './fields.tsx';
import type { Editable, Values } from './outlook.tsx';
import { Outlook } from './outlook.tsx';

/** Shows the form in its dialog. `shown` is the path of the list that is read again afterwards. */
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
  const { settings, before, error } = useSettings(kind, path);
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
      JSON.stringify(value) === JSON.stringify(before?.[field])
        ? others
        : { ...changes, [field]: Number.isNaN(value) ? null : value },
    );
  };
  return (
    <DialogForm title={`Change ${name}`} action="Save" onSubmit={save} onClose={onClose} isReady={names.length > 0}>
      {error ? (
        <Failed error={error} />
      ) : !settings || !before ? (
        <Loading />
      ) : (
        <div className="form">
          {/* The image of an existing template may be empty. The service reports everything else that is wrong. */}
          {settings.map((field) => (
            <Field
              key={field.name}
              field={{ ...field, required: field.kind === 'whole' }}
              value={field.name in changes ? changes[field.name] : before[field.name]}
              isChanged={field.name in changes}
              onChange={(value) => change(field.name, value)}
            />
          ))}
        </div>
      )}
      {before && names.length > 0 && (
        <p className="body outlook" role="status">
          <strong>What will happen:</strong>{' '}
          <Outlook kind={kind} id={id} names={names} fields={settings ?? []} before={before} />
        </p>
      )}
    </DialogForm>
  );
}

/** Reads the settings that can be changed, and their values now. */
function useSettings(kind: Editable, path: string) {
  const fields = useQuery({
    queryKey: ['fields', kind],
    queryFn: () => ask<FieldView[]>('GET', `/api/fields/${kind}`),
    staleTime: Infinity,
  });
  // Never from the cache: the form must show the current values.
  const before = useQuery({
    queryKey: ['edit', path],
    queryFn: () => ask<Values>('GET', path),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const settings = fields.data?.filter(
    (field) => !field.fixed && !(kind === 'template' && field.name === 'isServerless'),
  );
  return { settings, before: before.data, error: fields.error ?? before.error };
}
