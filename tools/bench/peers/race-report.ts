/**
 * Report of the race as Markdown: medians, their spread, the ratio of Slipway's speed to the others', and the targets.
 */
import { median } from '../figure.ts';
import type { RunFacts } from '../run-facts.ts';
import { factLines } from '../run-facts.ts';

/** One round of one contestant. */
export interface Round {
  /** Jobs per second. */
  rate: number;
  p50Ms?: number;
  p99Ms?: number;
  /** Median time of another client's update of a row in the same database, in milliseconds. */
  bystanderMs?: number;
  /** How long a transaction was open, in seconds. */
  openSeconds?: number;
}

/** All rounds of a contestant in a scenario. The first contestant of a scenario is Slipway. */
export interface Result {
  scenario: string;
  contestant: string;
  rounds: readonly Round[];
}

/** Facts that belong to the figures. */
export interface RaceFacts extends RunFacts {
  /** Contestants that could not take part, with the reason. */
  absent: readonly string[];
  /** Settings of each contestant. */
  contestants: Record<string, string>;
}

/** Slipway's median relative to another contestant's, and its target. */
interface Verdict {
  scenario: string;
  contestant: string;
  field: keyof Round;
  ratio: number;
  least?: number;
  most?: number;
  reached: boolean;
}

const TIMES = { p50Ms: 'p50', p99Ms: 'p99', bystanderMs: 'bystander' } as const;

/** Targets. Scenarios and contestants are matched by prefix. */
const TARGETS: readonly Pick<Verdict, 'scenario' | 'contestant' | 'field' | 'least' | 'most'>[] = [
  { scenario: 'POST /runsync ×1', contestant: 'Fastify, two commits', field: 'p50Ms', most: 1.6 },
  { scenario: 'POST /runsync ×64', contestant: 'BullMQ always', field: 'rate', least: 3 },
  { scenario: 'POST /runsync ×64', contestant: 'BullMQ always', field: 'p99Ms', most: 0.8 },
  { scenario: 'POST /runsync ×64', contestant: 'BullMQ everysec', field: 'rate', least: 1.5 },
  { scenario: 'POST /run ×64', contestant: 'pg-boss', field: 'rate', least: 6 },
  { scenario: 'POST /run ×64', contestant: 'graphile-worker (', field: 'rate', least: 15 },
  { scenario: 'POST /run ×64', contestant: 'BullMQ always', field: 'rate', least: 1 },
  { scenario: 'POST /run ×64', contestant: 'Fastify alone', field: 'rate', least: 0.4 },
  { scenario: 'drain', contestant: 'BullMQ always', field: 'rate', least: 1.3 },
  { scenario: 'drain', contestant: 'graphile-worker batched', field: 'rate', least: 1 },
  { scenario: 'drain', contestant: 'pg-boss', field: 'rate', least: 1 },
  { scenario: 'long queue', contestant: 'Slipway, nothing behind it', field: 'rate', least: 0.95 },
  { scenario: 'long queue', contestant: 'Slipway, nothing behind it', field: 'bystanderMs', most: 1.1 },
];

/** Returns the verdicts of all targets for which there are figures. */
export function verdictsOf(results: readonly Result[]): Verdict[] {
  return results.flatMap(({ scenario, contestant, rounds }) => {
    const own = results.find((result) => result.scenario === scenario)!;
    const targets = TARGETS.filter(
      (target) =>
        scenario === target.scenario || (!target.scenario.startsWith('POST') && scenario.startsWith(target.scenario)),
    );
    return targets
      .filter((target) => contestant.startsWith(target.contestant))
      .map((target) => {
        const { field, least = 0, most = Infinity } = target;
        const ratio = median(valuesOf(own.rounds, field)) / median(valuesOf(rounds, field));
        return { ...target, scenario, contestant, ratio, reached: ratio >= least && ratio <= most };
      });
  });
}

/** Returns the report as text. */
export function raceReport(facts: RaceFacts, results: readonly Result[]): string {
  const lines = [
    ...factLines(facts),
    `${facts.rounds} rounds in turn, of those by HTTP ${facts.seconds} s each; medians (least – most)`,
  ];
  const verdicts = verdictsOf(results);
  const scenarios = new Set(results.map(({ scenario }) => scenario));
  for (const name of scenarios)
    lines.push(
      '',
      ...section(
        results.filter(({ scenario }) => scenario === name),
        verdicts,
        facts,
      ),
    );
  const settings = Object.entries(facts.contestants).map(([name, text]) => `- ${name}: ${text}`);
  return [...lines, '', ...settings, ...facts.absent.map((text) => `- absent: ${text}`)].join('\n');
}

function section(results: readonly Result[], verdicts: readonly Verdict[], facts: RaceFacts): string[] {
  const rounds = results.flatMap((result) => result.rounds);
  const times = (Object.keys(TIMES) as (keyof typeof TIMES)[]).filter((field) =>
    rounds.some((round) => round[field] !== undefined),
  );
  const heads = ['', 'rate', ...times.map((field) => TIMES[field]), 'Slipway is', 'wanted'];
  const rows = results.map((result) => row(result, results[0]!, { times, verdicts, facts }));
  const open = valuesOf(results[0]!.rounds, 'openSeconds');
  const note =
    open.length === 0
      ? []
      : ['', `Slipway's transaction was open for ${spreadText(open, (seconds) => `${whole(seconds)} s`)}.`];
  return [
    `## ${results[0]!.scenario}`,
    '',
    `| ${heads.join(' | ')} |`,
    `|${heads.map(() => '---').join('|')}|`,
    ...rows,
    ...note,
  ];
}

function row(
  { scenario, contestant, rounds }: Result,
  first: Result,
  {
    times,
    verdicts,
    facts,
  }: { times: readonly (keyof typeof TIMES)[]; verdicts: readonly Verdict[]; facts: RaceFacts },
): string {
  const rates = valuesOf(rounds, 'rate');
  const cells = times.map((field) => spreadText(valuesOf(rounds, field), (ms) => `${ms.toFixed(1)} ms`));
  const ratio =
    contestant === first.contestant
      ? ''
      : `${(median(valuesOf(first.rounds, 'rate')) / median(rates)).toFixed(2)}×${flushNote(contestant, facts)}`;
  const wanted = verdicts
    .filter((verdict) => verdict.scenario === scenario && verdict.contestant === contestant)
    .map(verdictText)
    .join(', ');
  return `| ${[contestant, spreadText(rates, (rate) => `${whole(rate)}/s`), ...cells, ratio, wanted].join(' | ')} |`;
}

/** Returns the flush time beside a ratio to a queue in Redis: the ratio follows the disk. */
function flushNote(contestant: string, { flush }: RaceFacts): string {
  return contestant.startsWith('BullMQ') ? ` at a flush of ${flush.ms.toFixed(2)} ms` : '';
}

function verdictText({ field, ratio, least, most, reached }: Verdict): string {
  const name = field === 'rate' || field === 'openSeconds' ? field : TIMES[field];
  return (
    `${name} ${least === undefined ? `≤ ${most!.toFixed(2)}×` : `≥ ${least.toFixed(2)}×`} ` +
    `${reached ? 'yes' : 'NO'} (${ratio.toFixed(2)}×)`
  );
}

function valuesOf(rounds: readonly Round[], field: keyof Round): number[] {
  return rounds.flatMap((round) => round[field] ?? []);
}

function spreadText(values: readonly number[], show: (value: number) => string): string {
  if (values.length <= 1) return values.map(show).join('');
  return `${show(median(values))} (${show(Math.min(...values))} – ${show(Math.max(...values))})`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
