/**
 * How a resource is described: one table of its settings, which says of each how the public surfaces show it. REST
 * shapes and records (rest-shapes.ts), GraphQL fields, options of the command line and the names in error texts are
 * made from it. What one surface does its own way is written there, beside what is made.
 */

/** Type of a setting's value, and its form on each surface. */
export type Kind =
  /**
   * A text of `min` (0) to `max` characters. `none`: an empty one is none, which records leave out and GraphQL shows as
   * null.
   */
  | { is: 'text'; min?: number; max: number; none?: true }
  /** A whole number; its bounds are core's. `span`: milliseconds, which the command line takes with a unit. */
  | { is: 'whole'; span?: true }
  | { is: 'flag' }
  /**
   * A list of texts, which match `pattern` where there is one. In GraphQL one text with commas, or with `asList` a
   * list.
   */
  | { is: 'texts'; asList?: true; pattern?: string }
  /** A program with its arguments. In GraphQL one text, divided as a shell divides it. */
  | { is: 'command' }
  /** An environment. */
  | { is: 'variables' }
  /**
   * One of some words: public word to the contract's value. `prefix`: what its name in the contract has before it. The
   * first is also what is unknown.
   */
  | { is: 'word'; words: Readonly<Record<string, number | string>>; prefix: string }
  /** A word of two, the first of them off: true and false in REST and the command line, an enum in GraphQL. */
  | { is: 'switch'; words: Readonly<Record<string, number>>; prefix: string; graphqlType: string };

/** One setting. Texts may hold {default}, {min} and {max}, which are core's, and {span}, the default with a unit. */
export interface Field {
  kind: Kind;
  /** Only a new one takes it. */
  fixed?: true;
  /** A new one must say it. */
  required?: true;
  /**
   * Absent: REST does not have it. `in`: what a body says about it; absent: bodies have no member of this kind. `out`:
   * what a record says. `bodyOnly`: records do not have it, or have it in a way of their own.
   */
  rest?: { name: string; in?: string; out?: string; min?: number; bodyOnly?: true };
  /**
   * `must`: never null in answers. `in` absent: inputs do not have it, or have it in a way of their own. `change`: what
   * an input that only changes says instead.
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
  /** A pod's template or an endpoint's type may give it, so that no body may fill the default in. */
  readonly conditional?: boolean;
  /** A change of it replaces no worker and resets no pod. */
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

/** The settings that a change may name. */
export function changeable(table: Table): Table {
  return Object.fromEntries(Object.entries(table).filter(([, { fixed }]) => !fixed));
}

/** Names that a surface has for settings, by those of the contract in snake case. */
export function publicNames(table: Table, surface: 'rest' | 'graphql'): Record<string, string> {
  const named = Object.entries(table).flatMap(([field, { [surface]: shown }]) =>
    shown ? [[snake(field), shown.name] as const] : [],
  );
  return Object.fromEntries(named);
}

/** The public word for a value of the contract. */
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

/** Milliseconds in the largest unit that fits. */
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
