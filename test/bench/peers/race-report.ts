/** The race as Markdown: medians, their spread, and how many times as fast Slipway is. */
import { median } from '../figure.ts';

/** One round of one contestant. */
export interface Round {
  /** A second. */
  rate: number;
  p50Ms?: number;
  p99Ms?: number;
}

/** All rounds of a contestant in a scenario; the first contestant of a scenario is Slipway. */
export interface Result {
  scenario: string;
  contestant: string;
  rounds: readonly Round[];
}

/** What the figures belong to. */
export interface RaceFacts {
  machine: string;
  /** A warning, or empty. */
  busy: string;
  rounds: number;
  /** Of a round by HTTP. */
  seconds: number;
  /** Who could not take part, and why. */
  absent: readonly string[];
}

/** As text. */
export function raceReport(facts: RaceFacts, results: readonly Result[]): string {
  const how = `${facts.rounds} rounds in turn, ${facts.seconds} s each; medians (slowest – fastest)`;
  const lines = [facts.machine, ...(facts.busy === '' ? [] : [facts.busy]), how];
  for (const scenario of new Set(results.map((result) => result.scenario))) {
    const own = results.filter((result) => result.scenario === scenario);
    lines.push('', `## ${scenario}`, '', '| | rate | p50 | p99 | Slipway is |', '|---|---|---|---|---|', ...own.map((result) => row(result, own[0]!)));
  }
  return [...lines, '', ...facts.absent].join('\n');
}

function row({ contestant, rounds }: Result, first: Result): string {
  const rates = rounds.map(({ rate }) => rate);
  const rate = `${whole(median(rates))}/s (${whole(Math.min(...rates))} – ${whole(Math.max(...rates))})`;
  const times = (['p50Ms', 'p99Ms'] as const).map((field) => {
    const values = rounds.flatMap((round) => round[field] ?? []);
    return values.length === 0 ? '' : `${median(values).toFixed(1)} ms`;
  });
  const ratio = median(first.rounds.map((round) => round.rate)) / median(rates);
  return `| ${[contestant, rate, ...times, contestant === first.contestant ? '' : `${ratio.toFixed(2)}×`].join(' | ')} |`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
