/**
 * Forms that create a resource, made from its table of settings: common settings first, the rest under "More settings".
 */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { FieldView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { DialogForm } from '../ui/dialog.tsx';
import { Failed, Loading } from '../ui/parts.tsx';
import { Field } from './fields.tsx';
import { OF_PODS, OfferField } from './offers.tsx';
import type { Offer } from './pick.tsx';

type Values = Record<string, unknown>;

interface Form {
  title: string;
  /** Path of the REST collection. */
  path: string;
  /** Name of the table of settings; absent if `fields` has all settings. */
  table?: string;
  fields?: readonly FieldView[];
  first: readonly string[];
  /** Values that are sent unless the user enters others. */
  given?: Values;
  /** Choices of settings that refer to another resource. */
  offers?: Readonly<Record<string, Offer>>;
}

const text = (name: string, about: string, kind = 'text'): FieldView => ({
  name,
  kind,
  about,
  fixed: true,
  required: true,
  inPlace: true,
});

/** The form of each kind of resource. */
export const FORMS = {
  template: {
    title: 'New template',
    path: '/api/v1/templates',
    table: 'template',
    first: ['name', 'imageName', 'containerRegistryAuthId', 'dockerStartCmd', 'env', 'isServerless'],
    given: { isServerless: true, imageName: '' },
  },
  pod: {
    title: 'New pod',
    path: '/api/v1/pods',
    table: 'pod',
    first: [
      'name',
      'templateId',
      'imageName',
      'dockerStartCmd',
      'env',
      'computeType',
      'gpuTypeIds',
      'gpuCount',
      'ports',
      'volumeInGb',
      'networkVolumeId',
    ],
    offers: { templateId: OF_PODS },
  },
  volume: {
    title: 'New network volume',
    path: '/api/v1/networkvolumes',
    table: 'volume',
    first: ['name', 'size', 'dataCenterId'],
  },
  registry: {
    title: 'New registry credentials',
    path: '/api/v1/containerregistryauth',
    first: ['name', 'username', 'password'],
    fields: [
      text('name', 'Unique in the account.'),
      text('username', 'At the registry.'),
      text('password', 'Or a token. It is never shown again.', 'secret'),
    ],
  },
  secret: {
    title: 'New secret',
    path: '/api/v2/account/secrets',
    first: ['name', 'value', 'description'],
    fields: [
      text('name', 'Environment variables refer to it as {{ RUNPOD_SECRET_name }}. The name cannot be changed.'),
      text('value', 'It is never shown again. For a value of several lines: slipway secrets set.', 'secret'),
      { ...text('description', 'For people.'), required: false },
    ],
  },
} satisfies Record<string, Form>;

interface CreateProps {
  kind: keyof typeof FORMS;
  onDone: (id: string) => void;
  onClose: () => void;
}

/** Shows the form in its dialog. `onDone` receives the id. */
export function Create({ kind, onDone, onClose }: CreateProps) {
  const { title, path, table, fields: ownFields, first, given = {}, offers = {} }: Form = FORMS[kind];
  const [values, setValues] = useState<Values>(given);
  const queries = useQueryClient();
  const { data: fields = ownFields, error } = useQuery({
    queryKey: ['fields', table],
    queryFn: () => ask<FieldView[]>('GET', `/api/fields/${table}`),
    staleTime: Infinity,
    enabled: table !== undefined,
  });
  const make = async (): Promise<void> => {
    const { id } = await ask<{ id: string }>('POST', path, values);
    await queries.invalidateQueries({ queryKey: ['list'] });
    onDone(id);
  };
  const change = (field: FieldView, value: unknown): void => {
    const { [field.name]: _before, ...others } = values;
    setValues(value === '' || Number.isNaN(value) ? { ...given, ...others } : { ...others, [field.name]: value });
  };
  const shown = (field: FieldView) => {
    const { [field.name]: offer } = offers;
    if (offer)
      return (
        <OfferField
          key={field.name}
          field={field}
          offer={offer}
          value={values[field.name]}
          onChange={(id) => change(field, id)}
        />
      );
    return (
      <Field
        key={field.name}
        field={field.name in given ? { ...field, required: false } : field}
        value={values[field.name] ?? field.default}
        onChange={(value) => change(field, value)}
      />
    );
  };
  const rest = fields?.filter(({ name }) => !first.includes(name)) ?? [];
  return (
    <DialogForm title={title} action="Create" onSubmit={make} onClose={onClose} isReady={fields !== undefined}>
      {error ? (
        <Failed error={error} />
      ) : !fields ? (
        <Loading />
      ) : (
        <>
          <div className="form">
            {first.flatMap((name) => fields.filter((field) => field.name === name)).map(shown)}
          </div>
          {rest.length > 0 && (
            <details>
              <summary>More settings</summary>
              <div className="form">{rest.map(shown)}</div>
            </details>
          )}
        </>
      )}
    </DialogForm>
  );
}
