/** The race as Markdown: medians, their spread, how many times as fast Slipway is, and how many we want. */
import { median } from '../figure.ts';
import type { RunFacts } from '../run-facts.ts';
import { factLines } from '../run-facts.ts';

/** One round of one contestant. */
export interface Round {
  /** A second. */
  rate: number;
  p50Ms?: number;
  p99Ms?: number;
  /** How long somebody else's update of a row took in the same database: median, in milliseconds. */
  bystanderMs?: number;
}

/** All rounds of a contestant in a scenario; the first contestant of a scenario is Slipway. */
export interface Result {
  scenario: string;
  contestant: string;
  rounds: readonly Round[];
}

/** What the figures belong to. */
export interface RaceFacts extends RunFacts {
  /** Who could not take part, and why. */
  absent: readonly string[];
}

const TIMES = { p50Ms: 'p50', p99Ms: 'p99', bystanderMs: 'bystander' } as const;

/** Rates of Slipway over that of the other that we want, by the beginnings of scenario and contestant. */
const WANTED: readonly [scenario: string, contestant: string, ratio: number][] = [
  // At one connection a rate is the turned-over time: 1.6 times the time of the prototype.
  ['POST /runsync ×1', 'Fastify, two commits', 1 / 1.6],
  ['POST /runsync ×64', 'BullMQ always', 3], ['POST /runsync ×64', 'BullMQ everysec', 1.5],
  ['POST /run ×64', 'pg-boss', 6], ['POST /run ×64', 'graphile-worker (', 15], ['POST /run ×64', 'BullMQ always', 1], ['POST /run ×64', 'Fastify alone', 0.4],
  ['drain', 'BullMQ always', 1.3], ['drain', 'graphile-worker batched', 1],
];

/** As text. */
export function raceReport(facts: RaceFacts, results: readonly Result[]): string {
  const lines = [...factLines(facts), `${facts.rounds} rounds in turn, of those by HTTP ${facts.seconds} s each; medians (slowest – fastest)`];
  const scenarios = new Set(results.map(({ scenario }) => scenario));
  for (const name of scenarios) lines.push('', ...section(results.filter(({ scenario }) => scenario === name)));
  return [...lines, '', ...facts.absent].join('\n');
}

function section(results: readonly Result[]): string[] {
  const rounds = results.flatMap((result) => result.rounds);
  const times = (Object.keys(TIMES) as (keyof typeof TIMES)[]).filter((field) => rounds.some((round) => round[field] !== undefined));
  const heads = ['', 'rate', ...times.map((field) => TIMES[field]), 'Slipway is', 'wanted'];
  const rows = results.map((result) => row(result, results[0]!, times));
  return [`## ${results[0]!.scenario}`, '', `| ${heads.join(' | ')} |`, `|${heads.map(() => '---').join('|')}|`, ...rows];
}

function row({ scenario, contestant, rounds }: Result, first: Result, times: readonly (keyof typeof TIMES)[]): string {
  const rates = rounds.map(({ rate }) => rate);
  const rate = `${whole(median(rates))}/s (${whole(Math.min(...rates))} – ${whole(Math.max(...rates))})`;
  const cells = times.map((field) => {
    const values = rounds.flatMap((round) => round[field] ?? []);
    return values.length === 0 ? '' : `${median(values).toFixed(1)} ms`;
  });
  const ratio = `${(median(first.rounds.map((round) => round.rate)) / median(rates)).toFixed(2)}×`;
  const wanted = WANTED.find(([ofScenario, of]) => scenario.startsWith(ofScenario) && contestant.startsWith(of))?.[2];
  const comparison = contestant === first.contestant ? ['', ''] : [ratio, wanted === undefined ? '' : `${wanted.toFixed(2)}×`];
  return `| ${[contestant, rate, ...cells, ...comparison].join(' | ')} |`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
