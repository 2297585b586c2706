/** Figures that the bench measures, and how they are shown. */
import { cpus, loadavg, totalmem } from 'node:os';

/** Spread of several rounds. */
export interface Spread {
  least: number;
  most: number;
}

/** One line of the table. */
export interface Figure {
  /** Description of what was measured. */
  name: string;
  /** How the jobs reached a handler. Empty if no handler ran. */
  path: '' | 'session' | 'agent' | 'direct' | 'Envoy' | 'activator';
  value: number;
  /** Least and most of the rounds. */
  spread?: Spread;
  unit: '/s' | 'MB/s' | 's' | 'ms' | 'MiB' | '%' | '×';
  /** Target: a minimum for rates and shares, a maximum for the others. */
  target?: number;
  /** Shows the value as a share of the ceilings. */
  ofHttp?: boolean;
  ofInserts?: boolean;
  /** CPU time of an operation in microseconds, by process. */
  cpu?: Record<string, number>;
}

/** Bare ceilings of this run. 0: not measured. */
export interface Ceilings {
  http: number;
  inserts: number;
}

/** Returns the middle value, of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** Returns the median of several rounds and their spread. */
export function ofRounds(values: readonly number[]): { value: number; spread: Spread } {
  return { value: median(values), spread: { least: Math.min(...values), most: Math.max(...values) } };
}

/** Returns the largest value instead of the median, for things that must not happen even once. */
export function worstOf(values: readonly number[]): { value: number; spread: Spread } {
  return { ...ofRounds(values), value: Math.max(...values) };
}

/** Returns a short description of the machine. */
export function machineText(): string {
  return (
    `${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
    `Node ${process.version}`
  );
}

/** Returns a warning if other programs keep the machine busy; empty otherwise. */
export function busyText(): string {
  const [load] = loadavg();
  return load! > cpus().length / 4
    ? `the machine is busy with other work (load ${load!.toFixed(1)} on ${cpus().length} cores): rates will be too low`
    : '';
}

const HEADS = ['figure', 'path', 'measured', 'target', 'of bare HTTP', 'of bare inserts', 'CPU µs per operation'];

/** Returns the figures as lines for a terminal. */
export function table(figures: readonly Figure[], ceilings: Ceilings): string {
  return align([HEADS, ...rowsOf(figures, ceilings)]);
}

/** Returns the figures as Markdown, below a few lines of text. */
export function markdownTable(lines: readonly string[], figures: readonly Figure[], ceilings: Ceilings): string {
  const rows = [HEADS, HEADS.map(() => '---'), ...rowsOf(figures, ceilings)].map((row) => `| ${row.join(' | ')} |`);
  return [...lines, '', ...rows].join('\n');
}

function rowsOf(figures: readonly Figure[], ceilings: Ceilings): string[][] {
  const share = (figure: Figure, wanted: boolean | undefined, ceiling: number): string =>
    wanted && ceiling > 0 ? `${((100 * figure.value) / ceiling).toFixed(0)} %` : '';
  return figures.map((figure) => [
    figure.name,
    figure.path,
    measuredText(figure),
    targetText(figure),
    share(figure, figure.ofHttp, ceilings.http),
    share(figure, figure.ofInserts, ceilings.inserts),
    Object.entries(figure.cpu ?? {})
      .map(([name, us]) => `${name} ${us.toFixed(0)}`)
      .join(', '),
  ]);
}

/** Returns true if the figure reaches its target or has none. */
export function reached(figure: Figure): boolean {
  if (figure.target === undefined) return true;
  return figure.unit === '/s' || figure.unit === '%' ? figure.value >= figure.target : figure.value <= figure.target;
}

function targetText(figure: Figure): string {
  if (figure.target === undefined) return '';
  return (
    `${figure.unit === '/s' || figure.unit === '%' ? '≥' : '≤'} ${show(figure.target, figure.unit)} ` +
    `${reached(figure) ? 'yes' : 'NO'}`
  );
}

function measuredText({ value, spread, unit }: Figure): string {
  if (!spread || spread.least === spread.most) return show(value, unit);
  return `${show(value, unit)} (${show(spread.least, unit)} – ${show(spread.most, unit)})`;
}

function show(value: number, unit: Figure['unit']): string {
  if (unit === '/s') return `${Math.round(value).toLocaleString('en')}/s`;
  if (unit === 'MB/s') return `${value.toFixed(1)} MB/s`;
  if (unit === '%') return `${value.toFixed(0)} %`;
  if (unit === '×') return `${value.toFixed(2)}×`;
  return unit === 'ms' ? `${value.toFixed(2)} ms` : `${Math.round(value)} ${unit}`;
}

function align(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const pad = (cell: string, column: number): string =>
    column > 1 && column < 6 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!);
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
