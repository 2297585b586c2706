/** `npm run bench -- --peers`: races Slipway and other job queues in turn, round by round in one run. */

import { median } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { LongQueue } from '../parts/long-queue.ts';
import type { Bench } from '../stack/bench.ts';
import type { Contestant, Opened, Route } from './contestant.ts';
import type { Field } from './field.ts';
import { fieldOf } from './field.ts';
import { installPeers } from './install.ts';
import type { Result, Round } from './race-report.ts';

const SCENARIOS: readonly { name: string; route: Route; connections: number }[] = [
  { name: 'POST /runsync ×1', route: 'runsync', connections: 1 },
  { name: 'POST /runsync ×64', route: 'runsync', connections: 64 },
  { name: 'POST /runsync ×256', route: 'runsync', connections: 256 },
  { name: 'POST /run ×64', route: 'run', connections: 64 },
];
/**
 * Load on each route of each contestant before anything is measured, so that V8 does not compile during the rounds; and
 * warm-up before each scenario.
 */
const COMPILE = { seconds: 10, connections: 64 };
const WARM_UP_SECONDS = 2;

/** Results of the race. */
interface Raced extends Field {
  results: Result[];
}

/** Runs the race. */
export async function race(bench: Bench): Promise<Raced> {
  const field = await ableOf(bench, fieldOf(bench, installPeers(bench.say)));
  return {
    ...field,
    results: [...(await byHttp(bench, field.contestants)), ...(await byDrain(bench, field.contestants))],
  };
}

/** Returns the contestants that can start. Slipway is not tried: without it there is no race. */
export async function ableOf(
  { options, say }: Pick<Bench, 'options' | 'say'>,
  { contestants, absent }: Field,
): Promise<Field> {
  const able: Field = { contestants: [], absent: [...absent] };
  for (const [place, contestant] of contestants.entries()) {
    const { name, routes, drain, drainBefore } = contestant;
    const isAsked =
      routes.some((route) => options.only.includes(route)) ||
      (drain && options.only.includes('drain')) ||
      (drainBefore && options.only.includes('long-queue'));
    if (!isAsked) continue;
    try {
      say(`looking whether ${name} starts`);
      if (place > 0) for (const route of routes) await (await contestant.open(route)).stop();
      able.contestants.push(contestant);
    } catch (error) {
      able.absent.push(`${name}: it does not start: ${(error as Error).message.split('\n')[0]}`);
      say(able.absent.at(-1)!);
    }
  }
  return able;
}

/**
 * Measures all contestants in each round, starting each round with a different one. Other load on the machine then
 * affects all alike.
 */
async function inTurn<Of>(
  rounds: number,
  all: readonly Of[],
  measure: (one: Of, round: number) => Promise<Round>,
): Promise<Round[][]> {
  const measured: Round[][] = all.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < all.length; turn += 1) {
      const index = (round + turn) % all.length;
      measured[index]!.push(await measure(all[index]!, round));
    }
  }
  return measured;
}

/** Measures one route after the other, so that nothing of one route runs while the other is measured. */
async function byHttp(bench: Bench, all: readonly Contestant[]): Promise<Result[]> {
  const results: Result[] = [];
  for (const route of ['runsync', 'run'] as const) {
    const entered = all.filter(({ routes }) => routes.includes(route));
    if (bench.options.only.includes(route) && entered.length > 0)
      results.push(...(await byRoute(bench, entered, route)));
  }
  return results;
}

async function byRoute(bench: Bench, entered: readonly Contestant[], route: Route): Promise<Result[]> {
  const { rounds, seconds } = bench.options;
  const opened: { name: string; one: Opened }[] = [];
  const ask = async (
    { one }: (typeof opened)[number],
    load: Pick<Load, 'connections' | 'seconds'>,
  ): Promise<LoadResult> => {
    const result = await bench.load.ask<LoadResult>('run', { ...one.load, ...load } satisfies Load);
    await one.verify(result.answers);
    return result;
  };
  try {
    for (const contestant of entered) {
      bench.say(`starting ${contestant.name} for /${route}`);
      opened.push({ name: contestant.name, one: await contestant.open(route) });
    }
    bench.say(`warming up /${route}, ${COMPILE.seconds} s of each`);
    for (const one of opened) await ask(one, COMPILE);
    const results: Result[] = [];
    for (const { name, connections } of SCENARIOS.filter((scenario) => scenario.route === route)) {
      bench.say(`${name}: ${rounds} rounds of ${seconds} s of each`);
      for (const one of opened) await ask(one, { connections, seconds: Math.min(WARM_UP_SECONDS, seconds) });
      const measured = await inTurn(rounds, opened, (one) => ask(one, { connections, seconds }));
      results.push(
        ...measured.map((of, index) => told(bench, { scenario: name, contestant: opened[index]!.name, rounds: of })),
      );
    }
    return results;
  } finally {
    for (const { one } of opened) await one.stop();
  }
}

async function byDrain(bench: Bench, all: readonly Contestant[]): Promise<Result[]> {
  const { rounds, drainJobs, queuedJobs, openSeconds, only } = bench.options;
  const name = `drain of ${drainJobs.toLocaleString('en')} jobs`;
  const results: Result[] = [];
  const add = async (scenario: string, run: (one: Contestant) => (() => Promise<Round>) | undefined): Promise<void> => {
    const entered = all.filter((one) => run(one) !== undefined);
    bench.say(`${scenario}: ${rounds} rounds of each`);
    const measured = await inTurn(rounds, entered, (one) => run(one)!());
    results.push(
      ...measured.map((of, index) => told(bench, { scenario, contestant: entered[index]!.name, rounds: of })),
    );
  };
  if (only.includes('drain')) await add(name, ({ drain }) => drain && (() => drain(drainJobs)));
  if (only.includes('long-queue')) {
    const scenario = `long queue: ${name} before ${queuedJobs.toLocaleString('en')} more, a transaction open`;
    const long: LongQueue = { jobs: drainJobs, behind: queuedJobs, openSeconds };
    await add(scenario, ({ drainBefore }) => drainBefore && (() => drainBefore(long)));
  }
  return results;
}

/** Reports a result to the user during the race. */
function told(bench: Bench, result: Result): Result {
  bench.say(`  ${result.contestant}: ${Math.round(median(result.rounds.map(({ rate }) => rate)))}/s`);
  return result;
}
