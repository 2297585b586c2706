/** The choices of the usage page (kind of usage, time span, grouping), which are kept in the address. */

import type { Filter } from '../listing/listing-parts.tsx';
import type { Listing } from '../listing/use-listing.ts';

/** Ranges that can be chosen, in hours, and the periods that each is cut into. */
const RANGES = [
  ['24', 'the last day', 'hour'],
  ['168', 'the last 7 days', 'day'],
  ['720', 'the last 30 days', 'day'],
  ['2160', 'the last 90 days', 'week'],
  ['8760', 'the last year', 'month'],
] as const;
const KINDS = [
  ['workers', 'workers'],
  ['pods', 'pods'],
  ['volumes', 'network volumes'],
] as const;
/** Groupings of each kind: only workers belong to an endpoint. */
const GROUPS = { workers: ['endpoint', 'gpu'], pods: ['subject', 'gpu'], volumes: ['subject'] } as const;
const GROUP_WORDS: Readonly<Record<string, string>> = {
  endpoint: 'endpoint',
  gpu: 'GPU type',
  account: 'account',
  subject: 'resource',
};
const OF_GPU: Filter = { name: 'gpu', text: 'GPU type' };
const OF_ACCOUNT: Filter = { name: 'account', text: 'Account id' };
/** Filters of each kind. */
const FILTERS: Readonly<Record<string, readonly Filter[]>> = {
  workers: [{ name: 'endpoint', text: 'Endpoint id' }, OF_GPU],
  pods: [OF_GPU],
  volumes: [],
};
/** Choices in the address besides the filters. */
export const CHOICES = ['kind', 'hours', 'by'];

/** Returns the filters of a kind of usage. The operator can filter by account too. */
export function filtersOf(kind: string, isOperator: boolean): Filter[] {
  return [...(isOperator ? [OF_ACCOUNT] : []), ...(FILTERS[kind] ?? [])];
}

/** Returns the choices in an address, with defaults for absent ones. */
export function choiceOf(address: URLSearchParams, isOperator: boolean): UsageChoice & { groups: string[] } {
  const kind = address.get('kind') || 'workers';
  const hours = address.get('hours') || '720';
  const known: readonly string[] = Object.hasOwn(GROUPS, kind) ? GROUPS[kind as keyof typeof GROUPS] : [];
  const groups = [...(isOperator ? ['account'] : []), ...known];
  const asked = address.get('by') ?? '';
  // A grouping of the previous kind may not exist for this one.
  const by = (Object.hasOwn(GROUP_WORDS, asked) && !groups.includes(asked)) || asked === '' ? (groups[0] ?? '') : asked;
  return { kind, hours, by, groups, bucket: RANGES.find(([range]) => range === hours)?.[2] ?? 'day' };
}

/** A complete choice. */
interface UsageChoice {
  kind: string;
  /** How far back, in hours. */
  hours: string;
  /** The grouping. */
  by: string;
  /** Length of a period. */
  bucket: string;
}

/** Shows the choices as drop-down lists. */
export function Choices({
  choice: { kind, hours, by, groups },
  listing,
}: {
  choice: UsageChoice & { groups: readonly string[] };
  listing: Pick<Listing, 'filter'>;
}) {
  return (
    <>
      <Choice name="kind" label="Usage of" value={kind} choices={KINDS} listing={listing} />
      <Choice name="hours" label="Period" value={hours} choices={RANGES} listing={listing} />
      <Choice
        name="by"
        label="Group by"
        value={by}
        choices={groups.map((group) => [group, GROUP_WORDS[group]!])}
        listing={listing}
      />
    </>
  );
}

/** One drop-down list. A value that is not among its choices is shown as it is. */
function Choice({
  name,
  label,
  value,
  choices,
  listing,
}: {
  name: string;
  label: string;
  value: string;
  choices: readonly (readonly [value: string, text: string, ...unknown[]])[];
  listing: Pick<Listing, 'filter'>;
}) {
  return (
    <>
      <label htmlFor={`usage-${name}`}>{label}</label>
      <select id={`usage-${name}`} value={value} onChange={({ target }) => listing.filter({ [name]: target.value })}>
        {choices.map(([word, text]) => (
          <option key={word} value={word}>
            {text}
          </option>
        ))}
        {!choices.some(([word]) => word === value) && <option value={value}>{value.slice(0, 40)}</option>}
      </select>
    </>
  );
}
