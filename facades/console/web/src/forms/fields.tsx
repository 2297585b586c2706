/** Inputs for settings, made from the table of their resource. */
import { useState } from 'react';
import type { FieldView } from '../../../views.ts';

interface FieldProps {
  field: FieldView;
  value: unknown;
  isChanged?: boolean;
  isFixed?: boolean;
  onChange: (value: unknown) => void;
}

/** Shows a setting with its description and limits. */
export function Field({ field, value, isChanged = false, isFixed = false, onChange }: FieldProps) {
  const { name, about, min, max, required } = field;
  const bounds = max === undefined || max > 1e9 ? '' : ` ${min ?? 0} – ${max.toLocaleString('en')}.`;
  return (
    <div className={isChanged ? 'changed' : ''}>
      <label htmlFor={`field-${name}`}>
        {name}
        {required ? ' *' : ''}
      </label>
      <Input field={field} value={value} isFixed={isFixed} onChange={onChange} />
      <p className="hint" id={`about-${name}`}>
        {about}
        {bounds}
      </p>
    </div>
  );
}

function Input({ field: { name, kind, min, max, words, required }, value, isFixed, onChange }: FieldProps) {
  const shared = { id: `field-${name}`, disabled: isFixed, 'aria-describedby': `about-${name}` };
  switch (kind) {
    case 'whole': {
      const shown = typeof value === 'number' && !Number.isNaN(value) ? value : '';
      const bounds = { required, min, max };
      return (
        <input
          {...shared}
          {...bounds}
          type="number"
          value={shown}
          onChange={({ target }) => onChange(target.valueAsNumber)}
        />
      );
    }
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
            <option key={word}>{word}</option>
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
    case 'variables':
      return (
        <Lines
          {...shared}
          hint="NAME=value, one a line"
          before={pairsOf(value)}
          onLines={(lines) => onChange(variablesOf(lines))}
        />
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

function pairsOf(value: unknown): string[] {
  return Object.entries(value ?? {}).map(([name, text]) => `${name}=${String(text)}`);
}

function variablesOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trimStart())
    .filter((part, index, all) => part !== '' || (index === all.length - 1 && all.length > 1));
}
