/** A job's input as a form: one field for each member of the JSON object. The JSON text stays the only state. */
import { useState } from 'react';
import { formatJson } from '../lib/format-json.ts';

/** Most members of a form, and most characters of its JSON text: a larger one is slow at each keystroke. */
const MEMBERS_MAX = 50;
const TEXT_MAX = 20_000;
const NEW = { text: '', number: 0, 'yes or no': false } as const;

/** Shows the form. `text` is the JSON object. */
export function InputForm({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const members = membersOf(text);
  if (!members) {
    return (
      <p className="hint">
        A form shows an object of up to {MEMBERS_MAX} members whose numbers it can write as they are: change this as
        JSON.
      </p>
    );
  }
  const write = (next: Record<string, unknown>): void => onChange(JSON.stringify(next, undefined, 2));
  const without = (name: string): Record<string, unknown> =>
    Object.fromEntries(Object.entries(members).filter(([other]) => other !== name));
  return (
    <div className="members">
      {Object.entries(members).map(([name, value]) => (
        <div key={name}>
          <Member name={name} value={value} onChange={(next) => write({ ...members, [name]: next })} />
          <button type="button" onClick={() => write(without(name))}>
            Remove<span className="spoken"> {name}</span>
          </button>
        </div>
      ))}
      <NewMember taken={Object.keys(members)} onAdd={(name, value) => write({ ...members, [name]: value })} />
    </div>
  );
}

function Member({ name, value, onChange }: { name: string; value: unknown; onChange: (value: unknown) => void }) {
  const id = `member-${name}`;
  const label = <label htmlFor={id}>{name}</label>;
  switch (typeof value) {
    case 'boolean':
      return (
        <>
          {label}
          <input id={id} type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
        </>
      );
    case 'number': {
      const change = (text: string): void => onChange(text === '' ? 0 : Number(text));
      return (
        <>
          {label}
          <input id={id} type="number" step="any" value={value} onChange={({ target }) => change(target.value)} />
        </>
      );
    }
    case 'string':
      return (
        <>
          {label}
          <textarea
            id={id}
            rows={value.length > 80 ? 4 : 1}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        </>
      );
    default:
      return (
        <>
          <p>{name}</p>
          <span className="hint">a list, an object or null: change it as JSON</span>
        </>
      );
  }
}

function NewMember({ taken, onAdd }: { taken: readonly string[]; onAdd: (name: string, value: unknown) => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<keyof typeof NEW>('text');
  const isTaken = taken.includes(name);
  const add = (): void => {
    onAdd(name, NEW[kind]);
    setName('');
  };
  return (
    <div className="choices">
      <input
        aria-label="Name of a new field"
        placeholder="name of a new field"
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <select
        aria-label="Kind of a new field"
        value={kind}
        onChange={({ target }) => setKind(target.value as typeof kind)}
      >
        {Object.keys(NEW).map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
      <button type="button" disabled={name === '' || isTaken || taken.length >= MEMBERS_MAX} onClick={add}>
        Add
      </button>
      {isTaken && <span className="hint">A field of that name exists.</span>}
    </div>
  );
}

/** Returns the members of the object; `undefined` if a form cannot show it or would change its text. */
function membersOf(text: string): Record<string, unknown> | undefined {
  if (text.length > TEXT_MAX) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length > MEMBERS_MAX)
      return undefined;
    // For example a number of twenty digits, or a duplicate name.
    const isSame = formatJson(text, Infinity) === formatJson(JSON.stringify(value), Infinity);
    return isSame ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
