/** Runs seeds one after the other on one server, checks them, and makes the report. */
import { performance } from 'node:perf_hooks';
import { check } from './checker/checker.ts';
import type { HistoryEvent, Violation } from './checker/history.ts';
import { startSimServer } from './database/sim-server.ts';
import { useSimSockets } from './database/sim-socket.ts';
import type { RunResult } from './run-options.ts';
import type { ChosenFault } from './shrink.ts';
import { shrink } from './shrink.ts';
import { Simulation } from './simulation.ts';

interface SeedsOptions {
  seeds: number;
  minutes: number;
  from: number;
  jobs: number;
  /** Runs each seed twice and compares. */
  twice: boolean;
  keepsTrace: boolean;
  /** In place of all faults, the database is slow for a minute. */
  slow: boolean;
  /** Most faults are kills. */
  kills: boolean;
  /** Of the faults of each seed, only these happen, by their index. */
  only?: ReadonlySet<number> | undefined;
  /** Runs that look for the fewest faults with which the first failing seed still fails. 0: none. */
  shrinkRuns: number;
  /** Ends with the first violation. */
  stopsAtFirst: boolean;
  /** Name of the planted bug. */
  planted?: string;
  /** Receives a line for each seed, and the totals over all seeds so far. */
  onSeed(text: string, soFar: () => SeedsReport): void;
}

/** A seed that failed. */
interface Failure {
  seed: number;
  /** Repeats it. */
  command: string;
  violations: Violation[];
  /** Number of faults that were chosen, the fewest that were found to break its first rule, and what repeats these. */
  chosen: number;
  shrunk?: { faults: readonly ChosenFault[]; command: string };
}

/** Totals over all seeds. */
export interface SeedsReport {
  seeds: number;
  /** The first and the last seed. */
  range: { first: number; last: number };
  jobs: number;
  executions: number;
  statements: number;
  kills: number;
  /** Connections to the database that replicas have closed by themselves. */
  closed: number;
  /** Jobs that FAILED, though no handler had said so: their attempts were lost too often. */
  givenUp: number;
  faults: Record<string, number>;
  /** Virtual seconds from the last fault until everything was over. */
  recovery: { p50: number; p95: number; max: number };
  failures: Failure[];
  seconds: number;
  cpuSeconds: number;
  trace: readonly string[];
  text: string;
}

/** Violations of one seed that are printed. */
const PRINTED_MAX = 10;

/** Runs them. The process must do nothing else. */
export async function runSeeds(options: SeedsOptions): Promise<SeedsReport> {
  const server = await startSimServer();
  const plainSocket = useSimSockets();
  const beganMs = performance.now();
  const results: RunResult[] = [];
  const failures: Failure[] = [];
  try {
    for (let seed = options.from; seed < options.from + options.seeds; seed += 1) {
      if (performance.now() - beganMs > options.minutes * 60_000) break;
      const run = (): Promise<RunResult> => Simulation.run(server, { seed, ...options });
      const result = await run();
      const violations = check(result.history);
      if (options.twice && (await run()).hash !== result.hash)
        violations.push({ rule: 'the same seed is the same run', job: '', text: 'two runs have different traces' });
      results.push({ ...result, history: [], chosen: [] });
      count(result);
      if (violations.length > 0) {
        const chosen = result.chosen.length;
        failures.push({ seed, command: commandOf(seed, options), violations, chosen });
        if (failures.length === 1 && options.shrinkRuns > 0) await shrinkFirst(seed, violations[0]!.rule, result);
      }
      options.onSeed(lineOf(result, violations), report);
      if (violations.length > 0 && options.stopsAtFirst) break;
    }
  } finally {
    plainSocket();
    await server.remove();
  }
  return report();

  async function shrinkFirst(seed: number, rule: string, { chosen }: RunResult): Promise<void> {
    const run = async (only: ReadonlySet<number>) => {
      const result = await Simulation.run(server, { ...options, seed, only, keepsTrace: false });
      options.onSeed(`  with ${only.size} of its faults: ${check(result.history).length} violations`, report);
      return { faults: result.chosen, rules: check(result.history).map((violation) => violation.rule) };
    };
    const faults = await shrink({ faults: chosen, rule, runsMax: options.shrinkRuns, run });
    const only = new Set(faults.map(({ index }) => index));
    failures[0]!.shrunk = { faults, command: commandOf(seed, { ...options, only }) };
  }

  function report(): SeedsReport {
    return reportOf(results, failures, (performance.now() - beganMs) / 1_000);
  }

  function count({ history }: RunResult): void {
    totals.jobs += new Set(history.flatMap((event) => (event.is === 'acknowledged' ? [event.job] : []))).size;
    totals.executions += history.filter(({ is }) => is === 'started').length;
    totals.givenUp += givenUpIn(history);
  }
}

const totals = { jobs: 0, executions: 0, givenUp: 0 };

function givenUpIn(history: readonly HistoryEvent[]): number {
  const failed = history.flatMap((event) =>
    event.is === 'seen' && event.state === 'FAILED' && !event.error.startsWith('failed ') ? [event.job] : [],
  );
  return new Set(failed).size;
}

function commandOf(seed: number, { jobs, planted, slow, kills, only }: SeedsOptions): string {
  const faults = only ? ` --only ${[...only].join(',') || 'none'}` : '';
  const flags = `${slow ? ' --slow' : ''}${kills ? ' --kills' : ''}${faults}`;
  const more = `${flags}${planted === undefined ? '' : ` --planted '${planted}'`}`;
  return `npm run sim -- --from ${seed} --seeds 1 --jobs ${jobs}${more} --trace trace.txt`;
}

function lineOf(result: RunResult, violations: readonly Violation[]): string {
  const faults = [...result.faults.values()].reduce((sum, more) => sum + more, 0);
  const recovery = result.recoveryMs === undefined ? 'did not recover' : `recovered in ${seconds(result.recoveryMs)} s`;
  const told = violations.length === 0 ? 'ok' : `${violations.length} VIOLATIONS`;
  return `seed ${result.seed}: ${told}, ${faults} faults, ${result.statements} statements, ${recovery}`;
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}

function reportOf(results: readonly RunResult[], failures: Failure[], took: number): SeedsReport {
  const faults: Record<string, number> = {};
  for (const result of results) for (const [kind, number] of result.faults) faults[kind] = (faults[kind] ?? 0) + number;
  const kills = Object.entries(faults)
    .filter(([kind]) => /killed|loses power/.test(kind))
    .reduce((sum, [, number]) => sum + number, 0);
  const recoveries = results.flatMap(({ recoveryMs }) => recoveryMs ?? []).toSorted((a, b) => a - b);
  const at = (share: number): number => seconds(recoveries[Math.ceil(share * recoveries.length) - 1] ?? 0);
  const { user, system } = process.cpuUsage();
  const numbers = {
    ...{ seeds: results.length, ...totals, kills, faults, failures },
    range: { first: results[0]?.seed ?? 0, last: results.at(-1)?.seed ?? 0 },
    statements: results.reduce((sum, { statements }) => sum + statements, 0),
    closed: results.reduce((sum, { closed }) => sum + closed, 0),
    recovery: { p50: at(0.5), p95: at(0.95), max: at(1) },
    ...{ seconds: Math.round(took), cpuSeconds: Math.round((user + system) / 1e6) },
  };
  return { ...numbers, trace: results.at(-1)?.trace ?? [], text: textOf(numbers) };
}

function textOf(report: Omit<SeedsReport, 'trace' | 'text'>): string {
  const { seeds, range, jobs, executions, statements, kills, faults, recovery, failures } = report;
  const kinds = Object.entries(faults).toSorted(([, a], [, b]) => b - a);
  const failed = failures.flatMap(({ seed, command, violations, chosen, shrunk }) => [
    `seed ${seed} FAILED. To repeat it: ${command}`,
    ...violations.slice(0, PRINTED_MAX).map(({ rule, job, text }) => `  ${rule}: ${job} ${text}`),
    ...(shrunk
      ? [
          `  ${shrunk.faults.length} of its ${chosen} faults break the first rule. To repeat it: ${shrunk.command}`,
          ...shrunk.faults.map(({ index, text }) => `  ${String(index).padStart(7)}  ${text}`),
        ]
      : []),
  ]);
  return [
    `seeds ${range.first} to ${range.last} (${seeds}): ${jobs} jobs, ${executions} executions, ${kills} kills`,
    `${statements} statements`,
    `in ${report.seconds} s, of which this process worked ${report.cpuSeconds} s`,
    `${report.closed} connections to the database were closed by core; ${report.givenUp} jobs were given up`,
    `recovery in virtual seconds: p50 ${recovery.p50}, p95 ${recovery.p95}, max ${recovery.max}`,
    'faults:',
    ...kinds.map(([kind, number]) => `${String(number).padStart(7)}  ${kind}`),
    ...(failed.length === 0 ? ['no violation'] : failed),
    '',
  ].join('\n');
}
