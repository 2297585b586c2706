/** Usage as figures, charts and a table of sums. */
import type { ListView } from '../../../views.ts';
import type { UsageRecordView, UsageView } from '../../../views-of-usage.ts';
import { BarChart } from '../charts/bar-chart.tsx';
import { periodsOf } from '../charts/periods.ts';
import { count, span } from '../lib/format.ts';
import { DownloadCsv } from '../listing/download-csv.tsx';
import { Head, Pages } from '../listing/listing-parts.tsx';
import type { Listing } from '../listing/use-listing.ts';
import { Empty, Figure, Panel } from '../ui/parts.tsx';

const USD = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const COLUMNS = ['time', 'group', 'name', 'amount', 'billedMs'];

/** Shows the report. `query`: query of the sums. `isOld`: other sums are being loaded. */
export function UsageReport({
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
        <Empty title="Nothing ran in this period." />
      </Panel>
    );
  const chart = { records, bucket, periods: periodsOf(startMs, endMs, bucket), groups: groupsOf(records), groupCount };
  return (
    <>
      <dl className="figures">
        <Figure label="Cost" value={dollars(amount)} />
        <Figure label="Time" value={span(billedMs)} hint="summed over workers, pods or volumes" />
        <Figure label="Groups" value={count(groupCount)} />
      </dl>
      {amount > 0 && (
        <Panel title={`Cost per ${bucket}`}>
          <BarChart {...chart} of={({ amount: usd }) => usd} text={dollars} label="Cost" />
        </Panel>
      )}
      <Panel title={`Time per ${bucket}`}>
        <BarChart {...chart} of={(each) => each.billedMs} text={span} label="Time" />
      </Panel>
      <Panel
        title={`Usage by ${bucket}`}
        aside={<DownloadCsv title="Usage" path="/api/usage" columns={COLUMNS} query={query} />}
      >
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
    <div
      className="scroll"
      tabIndex={0}
      role="region"
      aria-label={`Usage by ${bucket}, scrolls sideways`}
      aria-busy={isOld}
    >
      <table className="rows">
        <thead>
          <tr>
            <Head listing={listing} text="From (UTC)" by="time" />
            <Head listing={listing} text="Name" by="name" />
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
 * Returns the groups by cost, then by time, with all others last. Every chart uses this order, so that a group has the
 * same colour in each.
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

/** Formats US dollars. Amounts under a cent keep two digits. */
function dollars(amount: number): string {
  if (amount === 0) return '$0';
  return amount < 0.01 ? `$${amount.toPrecision(2)}` : USD.format(amount);
}
