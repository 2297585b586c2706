/**
 * Environment variables, a row each. Existing values stay hidden until the user shows them; a value
 * can be a secret of the account, by name.
 */
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { ListView } from '../../../views.ts';
import { ask } from '../lib/api.ts';

/** Most secrets that are offered. */
const SECRETS_MAX = 1_000;
const REFERENCE = /^\s*\{\{\s*RUNPOD_SECRET_([^{}]*?)\s*\}\}\s*$/;
/** Value that core sends to keys that may not see the true one. */
const UNSEEN = '***';

interface Variable {
  key: number;
  name: string;
  value: string;
  isHidden: boolean;
}

/** Shows the editor. `label` names the group. */
export function EnvEditor({
  label,
  about,
  before,
  isFixed,
  onChange,
}: {
  label: string;
  about: string;
  before: Readonly<Record<string, string>>;
  isFixed: boolean;
  onChange: (env: Record<string, string>) => void;
}) {
  const nextKey = useRef(0);
  const variable = (name: string, value: string, isHidden: boolean): Variable => {
    nextKey.current += 1;
    return { key: nextKey.current, name, value, isHidden };
  };
  const [variables, setVariables] = useState(() =>
    Object.entries(before).map(([name, value]) => variable(name, value, !REFERENCE.test(value))),
  );
  const secrets = useSecrets();
  const update = (next: Variable[]): void => {
    setVariables(next);
    onChange(Object.fromEntries(next.filter(({ name }) => name !== '').map(({ name, value }) => [name, value])));
  };
  const change = (key: number, part: Partial<Variable>): void =>
    update(variables.map((one) => (one.key === key ? { ...one, ...part } : one)));
  const twice = variables.find(({ name }, at) => name !== '' && variables.findIndex((one) => one.name === name) < at);
  return (
    <fieldset className="env" disabled={isFixed}>
      <legend>{label}</legend>
      {variables.map((one) => (
        <Row
          key={one.key}
          variable={one}
          secrets={secrets}
          isFixed={isFixed}
          onChange={(part) => change(one.key, part)}
          onShow={() => setVariables(variables.map((each) => (each === one ? { ...one, isHidden: false } : each)))}
          onRemove={() => update(variables.filter(({ key }) => key !== one.key))}
        />
      ))}
      {variables.length === 0 && <p className="hint">None.</p>}
      {twice && (
        <p role="alert" className="failure">
          {twice.name} is there twice: the last one counts.
        </p>
      )}
      {!isFixed && (
        <button type="button" onClick={() => setVariables([...variables, variable('', '', false)])}>
          Add a variable
        </button>
      )}
      {about !== '' && <p className="hint">{about}</p>}
    </fieldset>
  );
}

interface RowProps {
  variable: Variable;
  secrets: readonly string[];
  isFixed: boolean;
  onChange: (part: Partial<Variable>) => void;
  onShow: () => void;
  onRemove: () => void;
}

function Row({ variable: { name, value, isHidden }, secrets, isFixed, onChange, onShow, onRemove }: RowProps) {
  const secret = REFERENCE.exec(value)?.[1];
  const spoken = name === '' ? 'of the new variable' : `of ${name}`;
  const kinds = secrets.length > 0 || secret !== undefined;
  const offered = secret === undefined || secrets.includes(secret) ? secrets : [secret, ...secrets];
  const choose = (chosen: string): void =>
    onChange({ value: chosen === '' ? '' : `{{ RUNPOD_SECRET_${chosen} }}`, isHidden: false });
  return (
    <div className="variable">
      <input
        aria-label={`Name ${spoken}`}
        placeholder="NAME"
        className="code"
        value={name}
        onChange={({ target }) => onChange({ name: target.value.trim() })}
      />
      {kinds && (
        <select aria-label={`Secret ${spoken}`} value={secret ?? ''} onChange={({ target }) => choose(target.value)}>
          <option value="">a value</option>
          {offered.map((each) => (
            <option key={each} value={each}>
              secret {each}
            </option>
          ))}
        </select>
      )}
      {secret === undefined &&
        (isHidden ? (
          <span className="hidden-value">
            <span aria-hidden="true">••••••••</span>
            {value === UNSEEN ? (
              <span className="hint">hidden from this key</span>
            ) : (
              <button type="button" onClick={onShow}>
                Show<span className="spoken"> the value {spoken}</span>
              </button>
            )}
          </span>
        ) : (
          <textarea
            aria-label={`Value ${spoken}`}
            placeholder="value"
            className="code"
            rows={Math.min(value.split('\n').length, 6)}
            spellCheck={false}
            autoComplete="off"
            value={value}
            onChange={({ target }) => onChange({ value: target.value })}
          />
        ))}
      {!isFixed && (
        <button type="button" className="quiet" onClick={onRemove}>
          Remove<span className="spoken"> {name || 'the new variable'}</span>
        </button>
      )}
    </div>
  );
}

/** Returns the names of the account's secrets. Empty while they are read, and for keys that may not see them. */
function useSecrets(): readonly string[] {
  const { data } = useQuery({
    queryKey: ['choices', 'secrets'],
    queryFn: () => ask<ListView>('GET', `/api/secrets?order=name&size=${SECRETS_MAX}`),
    retry: false,
  });
  return data?.rows.map(({ name }) => String(name)) ?? [];
}
