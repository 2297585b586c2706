/** Lists that GraphQL clients write as one text, and environments that they write as lists. */
import { parse, quote } from 'shell-quote';

/** One variable. */
export interface EnvironmentVariable {
  key: string;
  value: string;
}

/** Parts of a text separated by commas; null and empty: none. */
export function listOf(text: string | null): string[] {
  return (text ?? '').split(',').map((part) => part.trim()).filter((part) => part !== '');
}

/** The same the other way. */
export function textOf(parts: readonly string[] | undefined): string {
  return (parts ?? []).join(',');
}

/** Of a repeated key the last value counts. */
export function environmentOf(variables: readonly EnvironmentVariable[]): Record<string, string> {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value]));
}

/** In the order of the keys. */
export function variablesOf(environment: Readonly<Record<string, string | undefined>> | undefined): EnvironmentVariable[] {
  return Object.entries(environment ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => ({ key, value: value ?? '' }));
}

/** A command line as its words. Operators and patterns of a shell stay words: no shell will run it. */
export function commandOf(text: string): string[] {
  const words = parse(text, (name) => `$${name}`);
  return words.flatMap((word) => {
    if (typeof word === 'string') return [word];
    if ('pattern' in word) return [word.pattern];
    return 'op' in word ? [word.op] : [];
  });
}

/** Words as one command line. */
export function commandText(words: readonly string[]): string {
  return quote(words);
}
