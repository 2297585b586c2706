/** `npm run bench -- --peers`: Slipway and other job queues in turn, round by round in one run, and what came of it. */
import type { Bench } from '../bench.ts';
import { median } from '../figure.ts';
import type { Load, LoadResult } from '../load-generator.ts';
import { runFacts } from '../run-facts.ts';
import { writeReport } from '../report-file.ts';
import type { Contestant, Opened, Route } from './contestant.ts';
import { fieldOf } from './field.ts';
import { installPeers } from './install.ts';
import type { Result, Round } from './race-report.ts';
import { raceReport } from './race-report.ts';

const SCENARIOS: readonly { name: string; route: Route; connections: number }[] = [
  { name: 'POST /runsync ×1', route: 'runsync', connections: 1 },
  { name: 'POST /runsync ×64', route: 'runsync', connections: 64 },
  { name: 'POST /runsync ×256', route: 'runsync', connections: 256 },
  { name: 'POST /run ×64', route: 'run', connections: 64 },
];
/** Before anything is measured each route of each contestant is under load for so long, or V8 compiles in some of the rounds; and before each scenario. */
const COMPILE = { seconds: 10, connections: 64 };
const WARM_UP_SECONDS = 2;

/** Races, and prints Markdown or JSON. */
export async function race(bench: Bench): Promise<void> {
  installPeers(bench.say);
  const { contestants, absent } = fieldOf(bench);
  const results = [...await byHttp(bench, contestants), ...await byDrain(bench, contestants)];
  const facts = { ...await runFacts(bench), absent };
  const [markdown, json] = [raceReport(facts, results), JSON.stringify({ ...facts, results }, null, 2)];
  writeReport(bench, markdown, json);
  console.log(bench.options.json ? json : markdown);
}

/** Each round all of them in turn, each round another first: what else the machine does meets all alike. */
async function inTurn<Of>(rounds: number, all: readonly Of[], measure: (one: Of, round: number) => Promise<Round>): Promise<Round[][]> {
  const measured: Round[][] = all.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < all.length; turn += 1) {
      const index = (round + turn) % all.length;
      measured[index]!.push(await measure(all[index]!, round));
    }
  }
  return measured;
}

async function byHttp(bench: Bench, all: readonly Contestant[]): Promise<Result[]> {
  const { rounds, seconds } = bench.options;
  const scenarios = SCENARIOS.filter(({ route }) => bench.options.only.includes(route));
  const opened: { name: string; routes: readonly Route[]; one: Opened }[] = [];
  try {
    for (const contestant of all.filter(({ routes }) => scenarios.some(({ route }) => routes.includes(route)))) {
      bench.say(`starting ${contestant.name}`);
      opened.push({ name: contestant.name, routes: contestant.routes, one: await contestant.open() });
    }
    for (const route of new Set(scenarios.map((scenario) => scenario.route))) {
      bench.say(`warming up /${route}, ${COMPILE.seconds} s of each`);
      for (const { one, routes } of opened) if (routes.includes(route)) await bench.load.ask('run', { ...one.load(route), ...COMPILE } satisfies Load);
    }
    const results: Result[] = [];
    for (const { name, route, connections } of scenarios) {
      const entered = opened.filter(({ routes }) => routes.includes(route));
      const ask = (one: Opened, forSeconds: number): Promise<LoadResult> =>
        bench.load.ask<LoadResult>('run', { ...one.load(route), connections, seconds: forSeconds } satisfies Load);
      bench.say(`${name}: ${rounds} rounds of ${seconds} s of each`);
      for (const { one } of entered) await ask(one, Math.min(WARM_UP_SECONDS, seconds));
      const measured = await inTurn(rounds, entered, ({ one }) => ask(one, seconds));
      results.push(...measured.map((of, index) => told(bench, { scenario: name, contestant: entered[index]!.name, rounds: of })));
    }
    return results;
  } finally {
    for (const { one } of opened) await one.stop();
  }
}

async function byDrain(bench: Bench, all: readonly Contestant[]): Promise<Result[]> {
  const { rounds, drainJobs, queuedJobs, only } = bench.options;
  const name = `drain of ${drainJobs.toLocaleString('en')} jobs`;
  const results: Result[] = [];
  const add = async (scenario: string, run: (one: Contestant) => (() => Promise<Round>) | undefined): Promise<void> => {
    const entered = all.filter((one) => run(one) !== undefined);
    bench.say(`${scenario}: ${rounds} rounds of each`);
    const measured = await inTurn(rounds, entered, (one) => run(one)!());
    results.push(...measured.map((of, index) => told(bench, { scenario, contestant: entered[index]!.name, rounds: of })));
  };
  if (only.includes('drain')) await add(name, ({ drain }) => drain && (() => drain(drainJobs)));
  if (only.includes('long-queue')) {
    const scenario = `long queue: ${name} before ${queuedJobs.toLocaleString('en')} more, a transaction open`;
    await add(scenario, ({ drainBefore }) => drainBefore && (() => drainBefore(drainJobs, queuedJobs)));
  }
  return results;
}

/** Tells who waits for the report how it goes. */
function told(bench: Bench, result: Result): Result {
  bench.say(`  ${result.contestant}: ${Math.round(median(result.rounds.map(({ rate }) => rate)))}/s`);
  return result;
}
