/** Usage and what it costs: a chart of its course, and the sums of each period and group, which can be taken along. */
import { useState } from 'react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { UsageRecordView, UsageView } from '../../../views.ts';
import { ask } from '../api.ts';
import { BarChart, periodsOf } from '../bar-chart.tsx';
import { saveCsv } from '../csv.ts';
import { Filters, Head, namesOf } from '../listing-parts.tsx';
import type { Filter } from '../listing-parts.tsx';
import { Empty, Failed, Figure, Loading, Overdue, Panel } from '../parts.tsx';
import { useIsOperator } from '../session.tsx';
import { useListing } from '../use-listing.ts';
import { count, span } from '../words.ts';

/** How far back, and into what it is cut. */
const RANGES = [
  ['24', 'the last day', 'hour'], ['168', 'the last 7 days', 'day'], ['720', 'the last 30 days', 'day'], ['2160', 'the last 90 days', 'week'],
  ['8760', 'the last year', 'month'],
] as const;
const KINDS = [['workers', 'workers'], ['pods', 'pods'], ['volumes', 'network volumes']] as const;
/** What can be grouped by what: only workers have an endpoint. */
const GROUPS = { workers: ['endpoint', 'gpu'], pods: ['subject', 'gpu'], volumes: ['subject'] } as const;
const GROUP_WORDS: Readonly<Record<string, string>> = { endpoint: 'endpoint', gpu: 'type of GPU', account: 'account', subject: 'one' };
const OF_GPU: Filter = { name: 'gpu', text: 'GPU type' };
const OF_ACCOUNT: Filter = { name: 'account', text: 'Account id' };
/** What usage can be narrowed to. */
const FILTERS: Readonly<Record<keyof typeof GROUPS, readonly Filter[]>> = {
  workers: [{ name: 'endpoint', text: 'Endpoint id' }, OF_GPU], pods: [OF_GPU], volumes: [],
};
const TAKEN = ['time', 'group', 'name', 'amount', 'billedMs'];
/** All sums are there for the charts, so the page orders them itself. */
const ORDERS = {
  time: (one: UsageRecordView, other: UsageRecordView) => one.time.localeCompare(other.time),
  name: (one: UsageRecordView, other: UsageRecordView) => one.name.localeCompare(other.name),
  billedMs: (one: UsageRecordView, other: UsageRecordView) => one.billedMs - other.billedMs,
  amount: (one: UsageRecordView, other: UsageRecordView) => one.amount - other.amount,
};

interface Sorted {
  order: keyof typeof ORDERS;
  descending: boolean;
}

/** Rows of a page. */
const PAGE = 50;

/** The page. */
export default function UsagePage() {
  const isOperator = useIsOperator();
  const [kind, setKind] = useState<keyof typeof GROUPS>('workers');
  const [hours, setHours] = useState('720');
  const [asked, setBy] = useState('');
  const groups: readonly string[] = [...isOperator ? ['account'] : [], ...GROUPS[kind]];
  const by = groups.includes(asked) ? asked : groups[0]!;
  const bucket = RANGES.find(([range]) => range === hours)![2];
  const filters = [...isOperator ? [OF_ACCOUNT] : [], ...FILTERS[kind]];
  const filter = useListing({}, namesOf(filters));
  const query = `${new URLSearchParams({ kind, hours, by, bucket })}&${filter.query}`;
  const { data, error, refetch, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['usage', query], queryFn: () => ask<UsageView>('GET', `/api/usage?${query}`), placeholderData: keepPreviousData,
  });
  const choose = (label: string, value: string, choices: readonly (readonly [string, string])[], set: (next: string) => void) => (
    <>
      <label htmlFor={`usage-${label}`}>{label}</label>
      <select id={`usage-${label}`} value={value} onChange={({ target }) => set(target.value)}>
        {choices.map(([word, text]) => <option key={word} value={word}>{text}</option>)}
      </select>
    </>
  );
  return (
    <>
      <div className="title"><h1>Usage</h1></div>
      <div className="tools plain">
        {choose('Of', kind, KINDS, (next) => setKind(next as typeof kind))}
        {choose('in', hours, RANGES.map(([range, text]) => [range, text]), setHours)}
        {choose('by', by, groups.map((group) => [group, GROUP_WORDS[group]!]), setBy)}
        <Filters listing={filter} filters={filters} />
      </div>
      {data && <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />}
      {error ? <Failed error={error} again={() => void refetch()} /> : !data ? <Loading /> : <Shown usage={data} bucket={bucket} />}
    </>
  );
}

function Shown({ usage: { records, startMs, endMs }, bucket }: { usage: UsageView; bucket: string }) {
  const [page, setPage] = useState(0);
  const [{ order, descending }, setOrder] = useState<Sorted>({ order: 'time', descending: true });
  if (records.length === 0) return <Panel title="Usage"><Empty title="Nothing ran in that time." /></Panel>;
  const amount = records.reduce((sum, each) => sum + each.amount, 0);
  const billedMs = records.reduce((sum, each) => sum + each.billedMs, 0);
  const chart = { records, bucket, periods: periodsOf(startMs, endMs, bucket), names: groupsOf(records) };
  const sorted = [...records].sort(ORDERS[order]);
  if (descending) sorted.reverse();
  const at = Math.min(page, Math.ceil(sorted.length / PAGE) - 1);
  const sort = (next: string): void => { setOrder({ order: next as Sorted['order'], descending: next !== order || !descending }); setPage(0); };
  const listing = { order, descending, sort };
  return (
    <>
      <dl className="figures">
        <Figure label="Cost" value={dollars(amount)} /><Figure label="Time" value={span(billedMs)} hint="each counted for itself" />
        <Figure label="Groups" value={count(new Set(records.map(({ group }) => group)).size)} />
      </dl>
      {amount > 0 && (
        <Panel title={`Cost a ${bucket}`}><BarChart {...chart} of={({ amount: usd }) => usd} text={dollars} label="Cost" /></Panel>
      )}
      <Panel title={`Time a ${bucket}`}><BarChart {...chart} of={(each) => each.billedMs} text={span} label="Time" /></Panel>
      <Panel title="Sums" aside={<button type="button" onClick={() => saveCsv('usage', records.map((each) => ({ ...each })), TAKEN)}>Download CSV</button>}>
        <div className="scroll" tabIndex={0} role="region" aria-label="Sums, scrolls sideways">
          <table className="rows">
            <thead><tr>
              <Head listing={listing} text="From (UTC)" by="time" /><Head listing={listing} text="Of" by="name" /><th>Id</th>
              <Head listing={listing} text="Time" by="billedMs" className="right" /><Head listing={listing} text="Cost" by="amount" className="right" />
            </tr></thead>
            <tbody>
              {sorted.slice(at * PAGE, (at + 1) * PAGE).map((each) => (
                <tr key={`${each.time} ${each.group}`}>
                  <td>{each.time.slice(0, bucket === 'hour' ? 16 : 10).replace('T', ' ')}</td>
                  <th scope="row"><span className="text" title={each.name}>{each.name}</span></th><td className="id">{each.group}</td>
                  <td className="right number">{span(each.billedMs)}</td><td className="right number">{dollars(each.amount)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {sorted.length > PAGE && (
          <div className="more">
            <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>Previous</button>
            <button type="button" disabled={(at + 1) * PAGE >= sorted.length} onClick={() => setPage(at + 1)}>Next</button>
            <span className="hint">page {at + 1}</span>
          </div>
        )}
      </Panel>
    </>
  );
}

/** What costs most first, then what runs longest: the same order, and so the same colours, in every chart. */
function groupsOf(records: readonly UsageRecordView[]): string[] {
  const sums = new Map<string, [usd: number, ms: number]>();
  for (const { name, amount, billedMs } of records) {
    const [usd, ms] = sums.get(name) ?? [0, 0];
    sums.set(name, [usd + amount, ms + billedMs]);
  }
  return [...sums].sort(([, a], [, b]) => b[0] - a[0] || b[1] - a[1]).map(([name]) => name);
}

function dollars(amount: number): string {
  return `$${amount === 0 ? '0' : amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
}
