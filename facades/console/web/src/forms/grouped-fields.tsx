/** Settings of an endpoint and of what it alone runs, in groups. */
import { useId } from 'react';
import type { FieldView } from '../../../views.ts';
import { groupsOf } from '../lib/setting-words.ts';
import { Field } from './fields.tsx';
import type { Values } from './outlook.tsx';

/** Shows the groups. Settings that have no effect with these values are left out. */
export function GroupedFields({
  fields,
  values,
  changed = [],
  isFixed = () => false,
  onChange,
}: {
  fields: readonly FieldView[];
  values: Values;
  changed?: readonly string[];
  isFixed?: (field: FieldView) => boolean;
  onChange: (field: FieldView, value: unknown) => void;
}) {
  const id = useId();
  return groupsOf(fields, values).map(({ title, fields: shown }, at) => (
    <section key={title} className="group" aria-labelledby={`${id}-${at}`}>
      <h3 id={`${id}-${at}`}>{title}</h3>
      <div className="form">
        {shown.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name]}
            isChanged={changed.includes(field.name)}
            isFixed={isFixed(field)}
            onChange={(value) => onChange(field, value)}
          />
        ))}
      </div>
    </section>
  ));
}
