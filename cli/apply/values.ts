/** Values of a file and of the contract: how one becomes the other, and where they differ. */
import { wordOf } from '@slipway/facades/resources/field';
import type { Setting } from './sections.ts';

/** A difference. Values of variables are never part of it. */
export interface Change {
  setting: string;
  /** `undefined`: not set, or not to be shown. */
  from?: unknown;
  to?: unknown;
}

/** Variable that marks an endpoint or template as one of an owner's file. */
export const OWNER_MARK = 'SLIPWAY_OWNER';

export type Variables = Readonly<Record<string, string>>;

/** Returns a value of the contract as a file has it. */
export function toFile({ form }: Setting, value: unknown): unknown {
  if (form.is === 'word') return wordOf(form, value);
  return form.is === 'switch' ? value === Object.values(form.words)[1] : value;
}

/** Returns a value of a file as the contract has it. */
export function toContract({ form }: Setting, value: unknown): unknown {
  if (form.is === 'word') return form.words[value as string];
  return form.is === 'switch' ? Object.values(form.words)[value === true ? 1 : 0] : value;
}

/** Returns the settings of the contract that a file names. */
export function contractFields(settings: readonly Setting[], values: Readonly<Record<string, unknown>>) {
  const named = settings.flatMap((setting) => {
    const { field, name } = setting;
    return field === undefined || values[name] === undefined
      ? []
      : [[field, toContract(setting, values[name])] as const];
  });
  return Object.fromEntries(named) as Record<string, unknown>;
}

/** Returns where the values of a file differ from a message. What the file does not name never differs. */
export function differences(
  settings: readonly Setting[],
  values: Readonly<Record<string, unknown>>,
  message: object,
): Change[] {
  const current = message as Readonly<Record<string, unknown>>;
  return settings.flatMap((setting): Change[] => {
    const { field, name, form } = setting;
    const to = values[name];
    if (field === undefined || to === undefined) return [];
    const from = toFile(setting, current[field] ?? setting.fallback);
    if (form.is === 'variables') return variableChanges(name, from as Variables, to as Variables);
    return same(from, to) ? [] : [{ setting: name, from, to }];
  });
}

/** Returns which variables differ, without their values, which may be secret. */
function variableChanges(name: string, from: Variables, to: Variables): Change[] {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].toSorted();
  return names.flatMap((variable) => {
    const [before, after] = [from[variable], to[variable]];
    if (before === after) return [];
    const setting = `${name}.${variable}`;
    if (before === undefined) return [{ setting, to: 'set' }];
    return [{ setting, to: after === undefined ? 'removed' : 'changed' }];
  });
}

/** Returns whether two values of a file mean the same. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Returns the variables with the mark of the owner. Without an owner, a mark that is there stays. `undefined`: the file
 * changes none.
 */
export function markedEnv(
  wanted: Variables | undefined,
  current: Variables | undefined,
  owner: string | undefined,
): Variables | undefined {
  const mark = owner ?? current?.[OWNER_MARK];
  if (wanted === undefined && (owner === undefined || current?.[OWNER_MARK] === owner)) return undefined;
  return { ...(wanted ?? current), ...(mark !== undefined && { [OWNER_MARK]: mark }) };
}
