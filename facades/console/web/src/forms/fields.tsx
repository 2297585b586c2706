/** Inputs for settings, made from the table of their resource, in the words and units of setting-words.ts. */
import { useState } from 'react';
import type { FieldView } from '../../../views.ts';
import { textOf } from '../lib/setting-words.ts';
import { EnvEditor } from './env-editor.tsx';
import { GpuTypes } from './gpu-types.tsx';
import { OFFERS, OfferField } from './offers.tsx';

interface FieldProps {
  field: FieldView;
  value: unknown;
  isChanged?: boolean;
  isFixed?: boolean;
  onChange: (value: unknown) => void;
}

/** Shows a setting with its description and limits. */
export function Field({ field, value, isChanged = false, isFixed = false, onChange }: FieldProps) {
  const { name, kind, required } = field;
  const { label, about } = textOf(field);
  const { [name]: offer } = OFFERS;
  const group = { label, about, isFixed, onChange };
  const isGroup = kind === 'variables' || name === 'gpuTypeIds' || offer !== undefined;
  if (isGroup)
    return (
      <div className={isChanged ? 'wide changed' : 'wide'}>
        {kind === 'variables' ? (
          <EnvEditor {...group} before={(value ?? {}) as Record<string, string>} />
        ) : offer ? (
          <OfferField field={field} offer={offer} value={value} isFixed={isFixed} onChange={onChange} />
        ) : (
          <GpuTypes {...group} chosen={Array.isArray(value) ? (value as string[]) : []} />
        )}
      </div>
    );
  return (
    <div className={isChanged ? 'changed' : ''}>
      <label htmlFor={`field-${name}`}>
        {label}
        {required ? ' *' : ''}
      </label>
      <Input field={field} value={value} isFixed={isFixed} onChange={onChange} />
      <p className="hint" id={`about-${name}`}>
        {hintOf(field)}
      </p>
    </div>
  );
}

/** Returns the description, with default and bounds in the unit that is shown. */
function hintOf(field: FieldView): string {
  const { kind, min, max, default: usual } = field;
  const { about, scale = 1 } = textOf(field);
  if (kind !== 'whole') return about;
  const number = (value: number): string => (value / scale).toLocaleString('en');
  const bounds = max === undefined || max > 1e9 ? '' : `${number(min ?? 0)}\u00A0–\u00A0${number(max)}.`;
  const hasDefault = / default /i.test(` ${about} `);
  return [about, typeof usual === 'number' && !hasDefault ? `Default ${number(usual)}.` : '', bounds]
    .filter((part) => part !== '')
    .join(' ');
}

function sharedProps({ field: { name }, isFixed }: FieldProps) {
  return { id: `field-${name}`, disabled: isFixed, 'aria-describedby': `about-${name}` };
}

/** A whole number, shown in the unit that people use. */
function NumberInput(props: FieldProps) {
  const { field, value, onChange } = props;
  const { unit, scale = 1 } = textOf(field);
  const inUnit = (bound: number | undefined) => bound && bound / scale;
  const input = (
    <input
      {...sharedProps(props)}
      required={field.required}
      min={inUnit(field.min)}
      max={inUnit(field.max)}
      step={scale === 1 ? 1 : 'any'}
      type="number"
      value={typeof value === 'number' && !Number.isNaN(value) ? value / scale : ''}
      onChange={({ target }) => onChange(Math.round(target.valueAsNumber * scale))}
    />
  );
  return unit === undefined ? (
    input
  ) : (
    <span className="with-unit">
      {input} <span>{unit}</span>
    </span>
  );
}

function Input(props: FieldProps) {
  const { field, value, onChange } = props;
  const { kind, words, required } = field;
  const { words: texts = {} } = textOf(field);
  const shared = sharedProps(props);
  switch (kind) {
    case 'whole':
      return <NumberInput {...props} />;
    case 'flag':
    case 'switch':
      return (
        <input
          {...shared}
          type="checkbox"
          checked={value === true}
          onChange={({ target }) => onChange(target.checked)}
        />
      );
    case 'word':
      return (
        <select {...shared} value={String(value)} onChange={({ target }) => onChange(target.value)}>
          {words?.map((word) => (
            <option key={word} value={word}>
              {texts[word] ?? word}
            </option>
          ))}
        </select>
      );
    case 'texts':
      return (
        <input
          {...shared}
          value={Array.isArray(value) ? value.join(', ') : ''}
          onChange={({ target }) => onChange(listOf(target.value))}
        />
      );
    case 'command':
      return (
        <Lines {...shared} hint="one argument a line" before={Array.isArray(value) ? value : []} onLines={onChange} />
      );
    default: {
      const secret = kind === 'secret' ? { type: 'password', autoComplete: 'new-password' } : {};
      return (
        <input
          {...shared}
          {...secret}
          required={required}
          value={String(value ?? '')}
          onChange={({ target }) => onChange(target.value)}
        />
      );
    }
  }
}

/**
 * A list or map as text, one entry a line. It holds the text itself, because a line may be incomplete while it is
 * typed.
 */
function Lines({
  hint,
  before,
  onLines,
  ...shared
}: {
  id: string;
  disabled: boolean | undefined;
  'aria-describedby': string;
  hint: string;
  before: readonly string[];
  onLines: (lines: string[]) => void;
}) {
  const [text, setText] = useState(() => before.join('\n'));
  const [isWhole] = useState(() => before.every((line) => line.trim() !== '' && !line.includes('\n')));
  const change = (next: string): void => {
    setText(next);
    onLines(next.split('\n').filter((line) => line.trim() !== ''));
  };
  // Reading it back line by line would change the value.
  if (!isWhole)
    return (
      <p className="code">
        It has empty parts or line breaks, so only REST, GraphQL and the command line can change it.
      </p>
    );
  return (
    <textarea
      {...shared}
      className="code"
      rows={3}
      spellCheck={false}
      placeholder={hint}
      value={text}
      onChange={({ target }) => change(target.value)}
    />
  );
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trimStart())
    .filter((part, index, all) => part !== '' || (index === all.length - 1 && all.length > 1));
}
