/**
 * Describes a resource: one table of its settings, with the form of each on the public surfaces. REST shapes and
 * records (rest-shapes.ts), GraphQL fields, command-line options and the names in error texts are made from it. A
 * surface's own exceptions are written beside the generated parts.
 */

/** Type of a setting's value, and its form on each surface. */
export type Kind =
  /**
   * A text of `min` (0) to `max` characters. `none`: an empty one is none, which records leave out and GraphQL shows as
   * null.
   */
  | { is: 'text'; min?: number; max: number; none?: true }
  /** A whole number, whose bounds are core's. `span`: milliseconds, which the command line reads with a unit. */
  | { is: 'whole'; span?: true }
  | { is: 'flag' }
  /**
   * A list of texts, which match `pattern` where there is one. In GraphQL one text with commas, or with `asList` a
   * list.
   */
  | { is: 'texts'; asList?: true; pattern?: string }
  /** A program with its arguments. In GraphQL it is one text, split as a shell splits it. */
  | { is: 'command' }
  /** Environment variables. */
  | { is: 'variables' }
  /**
   * One of several words: public word to contract value. `prefix`: prefix of its name in the contract. Unknown values
   * are shown as the first word.
   */
  | { is: 'word'; words: Readonly<Record<string, number | string>>; prefix: string }
  /**
   * One of two words, the first of which means off: true and false in REST and the command line, an enum in GraphQL.
   */
  | { is: 'switch'; words: Readonly<Record<string, number>>; prefix: string; graphqlType: string };

/** One setting. Texts may hold {default}, {min} and {max}, which are core's, and {span}, the default with a unit. */
export interface Field {
  kind: Kind;
  /** Whether it can only be set at creation. */
  fixed?: true;
  /** Whether a new resource must set it. */
  required?: true;
  /**
   * Form in REST. Absent: REST does not have it. `in`: description in bodies; absent: not in bodies in this form.
   * `out`: description in records. `bodyOnly`: not in records, or in a form of their own.
   */
  rest?: { name: string; in?: string; out?: string; min?: number; bodyOnly?: true };
  /**
   * Form in GraphQL. `must`: never null in responses. `in` absent: not in inputs, or in a form of their own. `change`:
   * description in inputs that only change.
   */
  graphql?: { name: string; in?: string; change?: string; out?: string; must?: true };
  /** Options as commander writes them. `off`: about the same option with "no-". `row`: title of a row for people. */
  cli?: { option: string; about: string; off?: string; row?: string };
}

/** Core's description of a setting (proto/wire/settings.ts). */
export interface Rule {
  readonly default?: unknown;
  readonly min?: number;
  readonly max?: number;
  /** Whether a pod's template or an endpoint's type may set it. No body may then fill in the default. */
  readonly conditional?: boolean;
  /** Whether a change replaces no worker and resets no pod. */
  readonly inPlace?: boolean;
}

/** Settings by their names in the contract. */
export type Table = Readonly<Record<string, Field & { rule: Rule }>>;

/** Kinds that can hold a value of the contract. */
type KindOf<Value> = [Value] extends [boolean]
  ? { is: 'flag' }
  : [Value] extends [number]
    ? Kind & { is: 'whole' | 'word' | 'switch' }
    : [Value] extends [string]
      ? Kind & { is: 'text' | 'word' }
      : [Value] extends [string[]]
        ? Kind & { is: 'texts' | 'command' }
        : { is: 'variables' };

/** Describes all settings of a message; a setting that is missing is an error of types. */
export function describe<Settings>() {
  return <const Fields extends { [Name in keyof Settings]: Field & { kind: KindOf<Settings[Name]> } }>(
    rules: { readonly [Name in keyof Settings]: Rule },
    fields: Fields,
  ): { readonly [Name in keyof Fields]: Fields[Name] & { rule: Rule } } => {
    const named = Object.entries<Field>(fields as never).map(([name, field]) => {
      const rule = rules[name as keyof Settings];
      return [name, { ...filled(field, rule), rule }];
    });
    return Object.fromEntries(named) as never;
  };
}

/** Returns the settings that a change may include. */
export function changeable(table: Table): Table {
  return Object.fromEntries(Object.entries(table).filter(([, { fixed }]) => !fixed));
}

/** Returns a surface's names of settings, by their contract names in snake case. */
export function publicNames(table: Table, surface: 'rest' | 'graphql'): Record<string, string> {
  const named = Object.entries(table).flatMap(([field, { [surface]: shown }]) =>
    shown ? [[snake(field), shown.name] as const] : [],
  );
  return Object.fromEntries(named);
}

/** Returns the public word of a contract value. */
export function wordOf({ words }: Kind & { is: 'word' | 'switch' }, value: unknown): string {
  const known = Object.entries(words);
  return (known.find(([, inContract]) => inContract === value) ?? known[0]!)[0];
}

function filled(field: Field, rule: Rule): Field {
  const fill = (text: string): string =>
    text.replaceAll(/\{(default|min|max|span)\}/g, (_whole, part: keyof Rule | 'span') =>
      part === 'span' ? span(rule.default as number) : String(rule[part]),
    );
  const fillAll = <Part extends object>(part: Part): Part =>
    Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, typeof value === 'string' ? fill(value) : (value as unknown)]),
    ) as Part;
  return {
    ...field,
    ...(field.rest && { rest: fillAll(field.rest) }),
    ...(field.graphql && { graphql: fillAll(field.graphql) }),
    ...(field.cli && { cli: fillAll(field.cli) }),
  };
}

/** Returns the milliseconds in the largest unit that fits. */
function span(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1_000, 's'],
  ];
  const [size, unit] = units.find(([size]) => ms % size === 0) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}

function snake(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
