/** Usage and what it costs: a chart of its course, and the sums of each period and group, ordered and paged by core. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ListView, UsageRecordView, UsageView } from '../../../views.ts';
import { BarChart, periodsOf } from '../charts/bar-chart.tsx';
import { ask } from '../lib/api.ts';
import { useIsOperator } from '../lib/session.tsx';
import { useAddress } from '../lib/use-address.ts';
import type { Listing } from '../lib/use-listing.ts';
import { useListing } from '../lib/use-listing.ts';
import { count, span } from '../lib/words.ts';
import type { Filter } from '../ui/listing-parts.tsx';
import { Filters, Head, namesOf, Pages, Search } from '../ui/listing-parts.tsx';
import { Empty, Failed, Figure, Loading, Overdue, Panel } from '../ui/parts.tsx';
import { Take } from '../ui/take.tsx';

/** How far back, and into what it is cut. */
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
/** What can be grouped by what: only workers have an endpoint. */
const GROUPS = { workers: ['endpoint', 'gpu'], pods: ['subject', 'gpu'], volumes: ['subject'] } as const;
const GROUP_WORDS: Readonly<Record<string, string>> = {
  endpoint: 'endpoint',
  gpu: 'type of GPU',
  account: 'account',
  subject: 'one',
};
const OF_GPU: Filter = { name: 'gpu', text: 'GPU type' };
const OF_ACCOUNT: Filter = { name: 'account', text: 'Account id' };
/** What usage can be narrowed to. */
const FILTERS: Readonly<Record<string, readonly Filter[]>> = {
  workers: [{ name: 'endpoint', text: 'Endpoint id' }, OF_GPU],
  pods: [OF_GPU],
  volumes: [],
};
const COLUMNS = ['time', 'group', 'name', 'amount', 'billedMs'];

/** What is chosen besides filters. */
const CHOICES = ['kind', 'hours', 'by'];

/** What an address chooses, with what it leaves out. */
function choiceOf(address: URLSearchParams, isOperator: boolean) {
  const kind = address.get('kind') || 'workers';
  const hours = address.get('hours') || '720';
  const known: readonly string[] = Object.hasOwn(GROUPS, kind) ? GROUPS[kind as keyof typeof GROUPS] : [];
  const groups = [...(isOperator ? ['account'] : []), ...known];
  const asked = address.get('by') ?? '';
  // What the kind before was grouped by, this one may have no groups by.
  const by = (Object.hasOwn(GROUP_WORDS, asked) && !groups.includes(asked)) || asked === '' ? (groups[0] ?? '') : asked;
  return { kind, hours, by, groups, bucket: RANGES.find(([range]) => range === hours)?.[2] ?? 'day' };
}

/** The page. */
export default function UsagePage() {
  const isOperator = useIsOperator();
  const [address] = useAddress();
  const { kind, hours, by, groups } = choiceOf(address, isOperator);
  const filters = [...(isOperator ? [OF_ACCOUNT] : []), ...(FILTERS[kind] ?? [])];
  const listing = useListing({ order: 'time', descending: true }, [...CHOICES, ...namesOf(filters)]);
  const asked = new URLSearchParams(listing.query);
  const { groups: _groups, ...choice } = choiceOf(asked, isOperator);
  for (const [name, value] of Object.entries(choice)) asked.set(name, value);
  const query = asked.toString();
  for (const name of ['order', 'descending', 'page']) asked.delete(name);
  const course = useRead<UsageView>(`/api/usage/course?${asked}`);
  const sums = useRead<ListView>(`/api/usage?${query}`);
  const failed = course.error ? course : sums.error ? sums : undefined;
  const choose = (name: string, label: string, value: string, choices: readonly (readonly [string, string])[]) => (
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
  return (
    <>
      <div className="title">
        <h1>Usage</h1>
      </div>
      <Search listing={listing} isPlain>
        {choose('kind', 'Of', kind, KINDS)}
        {choose(
          'hours',
          'in',
          hours,
          RANGES.map(([range, text]) => [range, text]),
        )}
        {choose(
          'by',
          'by',
          by,
          groups.map((group) => [group, GROUP_WORDS[group]!]),
        )}
        <Filters listing={listing} filters={filters} />
      </Search>
      {course.data && (
        <Overdue
          failureReason={course.failureReason ?? sums.failureReason}
          isPlaceholderData={course.isPlaceholderData || sums.isPlaceholderData}
        />
      )}
      {failed ? (
        <Failed error={failed.error} again={() => void failed.refetch()} />
      ) : !course.data || !sums.data ? (
        <Loading />
      ) : (
        <Shown
          usage={course.data}
          sums={sums.data}
          isOld={sums.isPlaceholderData}
          listing={listing}
          query={query}
          bucket={choice.bucket}
        />
      )}
    </>
  );
}

/** What was read before is shown until there is another. */
function useRead<Answer>(path: string) {
  return useQuery({
    queryKey: ['usage', path],
    queryFn: () => ask<Answer>('GET', path),
    placeholderData: keepPreviousData,
  });
}

function Shown({
  usage: { records, startMs, endMs, amount, billedMs, groupCount },
  sums,
  isOld,
  listing,
  query,
  bucket,
}: {
  usage: UsageView;
  sums: ListView;
  isOld: boolean;
  listing: Listing;
  query: string;
  bucket: string;
}) {
  if (groupCount === 0)
    return (
      <Panel title="Usage">
        <Empty title="Nothing ran in that time." />
      </Panel>
    );
  const chart = { records, bucket, periods: periodsOf(startMs, endMs, bucket), groups: groupsOf(records), groupCount };
  return (
    <>
      <dl className="figures">
        <Figure label="Cost" value={dollars(amount)} />
        <Figure label="Time" value={span(billedMs)} hint="each counted for itself" />
        <Figure label="Groups" value={count(groupCount)} />
      </dl>
      {amount > 0 && (
        <Panel title={`Cost a ${bucket}`}>
          <BarChart {...chart} of={({ amount: usd }) => usd} text={dollars} label="Cost" />
        </Panel>
      )}
      <Panel title={`Time a ${bucket}`}>
        <BarChart {...chart} of={(each) => each.billedMs} text={span} label="Time" />
      </Panel>
      <Panel title="Sums" aside={<Take title="Usage" path="/api/usage" columns={COLUMNS} query={query} />}>
        <Sums sums={sums} isOld={isOld} listing={listing} bucket={bucket} />
        <Pages listing={listing} next={sums.next} isOld={isOld} />
      </Panel>
    </>
  );
}

function Sums({
  sums: { rows },
  isOld,
  listing,
  bucket,
}: {
  sums: ListView;
  isOld: boolean;
  listing: Listing;
  bucket: string;
}) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Sums, scrolls sideways" aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            <Head listing={listing} text="From (UTC)" by="time" />
            <Head listing={listing} text="Of" by="name" />
            <th>Id</th>
            <Head listing={listing} text="Time" by="billed_ms" className="right" />
            <Head listing={listing} text="Cost" by="amount" className="right" />
          </tr>
        </thead>
        <tbody>
          {(rows as unknown as readonly UsageRecordView[]).map((each) => (
            <tr key={`${each.time} ${each.group}`}>
              <td>{each.time.slice(0, bucket === 'hour' ? 16 : 10).replace('T', ' ')}</td>
              <th scope="row">
                <span className="text" title={each.name}>
                  {each.name}
                </span>
              </th>
              <td className="id">{each.group}</td>
              <td className="right number">{span(each.billedMs)}</td>
              <td className="right number">{dollars(each.amount)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * What costs most first, then what runs longest, all others last: the same order, and so the same colours, in every
 * chart.
 */
function groupsOf(records: readonly UsageRecordView[]): [group: string, name: string][] {
  const sums = new Map<string, { name: string; usd: number; ms: number }>();
  for (const { group, name, amount, billedMs } of records) {
    const { usd, ms } = sums.get(group) ?? { usd: 0, ms: 0 };
    sums.set(group, { name, usd: usd + amount, ms: ms + billedMs });
  }
  const isOthers = (group: string): number => Number(group === '');
  return [...sums]
    .sort(([a, one], [b, other]) => isOthers(a) - isOthers(b) || other.usd - one.usd || other.ms - one.ms)
    .map(([group, { name }]) => [group, name]);
}

function dollars(amount: number): string {
  return `$${amount === 0 ? '0' : amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
}
