/** The report of a soak: plots, a table of trends, totals. */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { plot } from './plot.ts';
import type { Subject } from './sample.ts';
import { KEPT_LONG } from './sample.ts';
import type { Soak } from './soak.ts';
import type { Tolerance, Trend } from './trend.ts';
import { trendOf } from './trend.ts';

/** Plot of a subject, and the growth that its series may have. A subject without a tolerance is not judged. */
interface Shown {
  title: string;
  unit: string;
  tolerance?: Tolerance;
}

const SHARE = 0.05;
/** These grow through the whole soak. Their growth is reported. */
const UNBOUNDED: Tolerance = { share: 0, least: Infinity };
const SHOWN: Record<Subject, Shown> = {
  memory: { title: 'Memory (PSS)', unit: 'MiB', tolerance: { share: SHARE, least: 8 } },
  heap: { title: 'Heap that is alive', unit: 'MiB', tolerance: { share: SHARE, least: 3 } },
  descriptors: { title: 'Open descriptors', unit: 'number', tolerance: { share: SHARE, least: 5 } },
  metrics: { title: 'Series of metrics', unit: 'number', tolerance: { share: SHARE, least: 20 } },
  values: { title: 'Stored inputs, outputs and chunks', unit: 'MiB', tolerance: { share: SHARE, least: 1 } },
  // A file has what vacuum freed, too: 2,000 dead rows of 2 KB, and what a minute adds until vacuum comes.
  tables: { title: 'Tables', unit: 'MiB', tolerance: { share: SHARE, least: 8 } },
  indexes: { title: 'Indexes', unit: 'MiB', tolerance: { share: SHARE, least: 1 } },
  rows: { title: 'Rows', unit: 'number', tolerance: { share: SHARE, least: 500 } },
  folders: { title: 'Folders', unit: 'MiB', tolerance: { share: SHARE, least: 1 } },
  latency: { title: 'Latency of requests', unit: 'ms' },
  work: { title: 'Requests, load of the machine, faults', unit: 'number' },
};

/** A series with its trend. */
interface Judged {
  subject: Subject;
  name: string;
  trend: Trend;
}

/** Returns the trend of each series that is judged. */
export function judge(soak: Soak): Judged[] {
  return Object.entries(soak.series).flatMap(([subject, lines]) => {
    const { tolerance } = SHOWN[subject as Subject];
    if (!tolerance) return [];
    return Object.entries(lines).map(([name, points]) => ({
      subject: subject as Subject,
      name,
      trend: trendOf(points, isUnjudged(soak, subject, name) ? UNBOUNDED : tolerance),
    }));
  });
}

/**
 * Returns true for tables that are kept long, for the memory of Envoy, and for all memory if snapshots were taken.
 * Envoy returns pages in steps of 11 MiB, and what is allocated counts as its heap. After a snapshot a Node process
 * keeps 70 to 200 MiB of free memory.
 */
function isUnjudged({ growth }: Soak, subject: string, name: string): boolean {
  return name === KEPT_LONG || (subject === 'memory' && (name === 'Envoy' || growth !== undefined));
}

/** Returns the report as Markdown. */
export function reportOf(soak: Soak): string {
  const requests = Object.values(soak.sent).reduce((sum, count) => sum + count, 0);
  const rows = judge(soak).map(({ subject, name, trend }) => {
    const figures = [trend.median, trend.perHour, trend.allowed].map(short).join(' | ');
    return `| ${SHOWN[subject].title} | ${name} | ${figures} | ${trend.isFlat ? 'yes' : '**no**'} |`;
  });
  return [
    `${soak.minutes} minutes, ${requests} requests (${soak.omitted} left out), ${soak.acceptedJobs} accepted jobs. ` +
      `${cpus().length} processors (${cpus()[0]?.model}), Node ${process.version}, ` +
      `load ${loadavg()[0]!.toFixed(1)} at the end.`,
    '',
    soak.faults.length === 0 ? 'No faults: every answer was right, and every accepted job ended once.' : 'Faults:',
    ...soak.faults.map((fault) => `- ${fault}`),
    '',
    '| | Series | Median | Growth in an hour | Allowed | Flat |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    '| Requests | Number |',
    '|---|---|',
    ...Object.entries(soak.sent).map(([kind, count]) => `| ${kind} | ${count} |`),
    '',
    ...(soak.growth === undefined ? [] : [soak.growth, '']),
    ...Object.keys(soak.series).map((subject) => `![${SHOWN[subject as Subject].title}](${subject}.svg)`),
    '',
  ].join('\n');
}

/** Writes the report, all points as JSON, and one plot for each subject. */
export async function writeReport(soak: Soak, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'soak.md'), reportOf(soak));
  await writeFile(join(folder, 'soak.json'), JSON.stringify(soak));
  for (const [subject, lines] of Object.entries(soak.series)) {
    const { title, unit } = SHOWN[subject as Subject];
    const drawn = Object.entries(lines).map(([name, points]) => ({ name, points }));
    await writeFile(join(folder, `${subject}.svg`), plot(title, unit, drawn));
  }
}

function short(value: number): string {
  if (value === Infinity) return 'any';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}
