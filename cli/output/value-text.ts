/** Old and new values of settings, for people and for programs. */
import { printable } from '@slipway/kit/log/printable';

/** Value of a setting before and after a change, as JSON. */
interface ChangedValue {
  field: string;
  oldJson?: string | undefined;
  newJson?: string | undefined;
}

/** Longest value in a table, in characters. */
const VALUE_LENGTH_MAX = 40;

/** Returns old and new value. Absent ones were not set, or are not kept. */
export function bothOf({ oldJson, newJson }: ChangedValue): { old?: unknown; new?: unknown } {
  return {
    ...(oldJson !== undefined && { old: JSON.parse(oldJson) as unknown }),
    ...(newJson !== undefined && { new: JSON.parse(newJson) as unknown }),
  };
}

/** Returns a field with its old and new value, where both are kept and short. */
export function valueText(field: string, values: readonly ChangedValue[]): string {
  const { oldJson = '', newJson = '' } = values.find((value) => value.field === field) ?? {};
  const isShown = [oldJson, newJson].every((json) => json !== '' && json.length <= VALUE_LENGTH_MAX);
  return printable(isShown ? `${field} ${oldJson} → ${newJson}` : field);
}
