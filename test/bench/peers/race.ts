/** `npm run bench -- --peers`: Slipway and other job queues in turn, round by round in one run, and what came of it. */
import type { Bench } from '../bench.ts';
import { busyText, machineText, median } from '../figure.ts';
import type { Load, LoadResult } from '../load-generator.ts';
import { inPostgres, inRedis, peerOf, slipway } from './contestant.ts';
import type { Contestant, Opened, Route } from './contestant.ts';
import { installPeers } from './install.ts';
import type { Result, Round } from './race-report.ts';
import { raceReport } from './race-report.ts';

const SCENARIOS: readonly { name: string; route: Route; connections: number }[] = [
  { name: 'POST /runsync ×1', route: 'runsync', connections: 1 },
  { name: 'POST /runsync ×64', route: 'runsync', connections: 64 },
  { name: 'POST /runsync ×256', route: 'runsync', connections: 256 },
  { name: 'POST /run ×64', route: 'run', connections: 64 },
];
const WARM_UP_SECONDS = 2;

/** Races, and prints Markdown or JSON. */
export async function race(bench: Bench): Promise<void> {
  installPeers(bench.say);
  const { contestants, absent } = field(bench);
  const { only } = bench.options;
  const results = [...await byHttp(bench, contestants), ...only.includes('drain') ? await byDrain(bench, contestants) : []];
  const facts = { machine: machineText(), busy: busyText(), rounds: bench.options.rounds, seconds: bench.options.seconds, absent };
  console.log(bench.options.json ? JSON.stringify({ ...facts, results }, null, 2) : raceReport(facts, results));
}

function field(bench: Bench): { contestants: Contestant[]; absent: string[] } {
  const store = inPostgres(bench);
  const contestants = [
    slipway(bench), peerOf('pg-boss', 'pg-boss', 'pg-boss', store), peerOf('graphile-worker', 'graphile', 'graphile-worker', store),
    peerOf('graphile-worker batched', 'graphile-batched', 'graphile-worker', store),
  ];
  const [always, everysec] = [inRedis('always'), inRedis('everysec')];
  if (!always || !everysec) return { contestants, absent: ['BullMQ: there is no redis-server on the PATH (Debian: apt-get install redis-server)'] };
  return {
    contestants: [...contestants, peerOf('BullMQ always', 'bullmq', 'bullmq', always), peerOf('BullMQ everysec', 'bullmq', 'bullmq', everysec)], absent: [],
  };
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

async function byHttp(bench: Bench, contestants: readonly Contestant[]): Promise<Result[]> {
  const { rounds, seconds } = bench.options;
  const scenarios = SCENARIOS.filter(({ route }) => bench.options.only.includes(route));
  if (scenarios.length === 0) return [];
  const opened: Opened[] = [];
  try {
    for (const contestant of contestants) {
      bench.say(`starting ${contestant.name}`);
      opened.push(await contestant.open());
    }
    const results: Result[] = [];
    for (const { name, route, connections } of scenarios) {
      const ask = (one: Opened, forSeconds: number): Promise<LoadResult> =>
        bench.load.ask<LoadResult>('run', { ...one.load(route), connections, seconds: forSeconds } satisfies Load);
      bench.say(`${name}: ${rounds} rounds of ${seconds} s of each`);
      for (const one of opened) await ask(one, Math.min(WARM_UP_SECONDS, seconds));
      const measured = await inTurn(rounds, opened, (one) => ask(one, seconds));
      results.push(...measured.map((of, index) => ({ scenario: name, contestant: contestants[index]!.name, rounds: of })));
      for (const { contestant, rounds: of } of results.slice(-opened.length)) bench.say(`  ${contestant}: ${Math.round(median(of.map(({ rate }) => rate)))}/s`);
    }
    return results;
  } finally {
    for (const one of opened) await one.stop();
  }
}

async function byDrain(bench: Bench, contestants: readonly Contestant[]): Promise<Result[]> {
  const { rounds, drainJobs } = bench.options;
  const scenario = `drain of ${drainJobs.toLocaleString('en')} jobs`;
  const measured = await inTurn(rounds, contestants, async (one, round) => {
    bench.say(`${scenario}: ${one.name}, round ${round + 1}`);
    const rate = await one.drain(drainJobs);
    bench.say(`  ${Math.round(rate)}/s`);
    return { rate };
  });
  return measured.map((of, index) => ({ scenario, contestant: contestants[index]!.name, rounds: of }));
}
