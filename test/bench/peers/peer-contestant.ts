/** A peer in the race: behind the same bare Fastify with a check of a key, with two worker processes. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { holdSnapshot, startBystander } from '../bystander.ts';
import { Child } from '../child.ts';
import { BODY, EXPECT } from './contestant.ts';
import type { Contestant, Route } from './contestant.ts';
import type { MakeStore } from './peer-store.ts';
import type { WorkerCount } from './peer-worker.ts';
import type { Round } from './race-report.ts';

const WORKERS = 2;
/** Who has not drained its queue by then is judged by what it did until then. */
const DRAIN_MS_MAX = 60_000;
const LOOK_MS = 20;

/** What it is. */
export interface PeerOptions {
  /** Of the report. */
  name: string;
  /** Its name in peers.ts. */
  peer: string;
  makeStore: MakeStore;
  routes: readonly Route[];
  /** Whether it keeps jobs for workers that come later, and says what is done. */
  drains: boolean;
  /** Whether its store is a database that others may use, too. */
  inDatabase: boolean;
}

/** Makes it. */
export function peerOf({ name, peer, makeStore, routes, drains, inDatabase }: PeerOptions): Contestant {
  const key = randomBytes(16).toString('hex');
  const envOf = (store: string, queue: string) => ({ BENCH_PEER: peer, BENCH_STORE: store, BENCH_QUEUE: queue, BENCH_KEY: key });
  const startServer = (store: string, queue: string): Promise<Child> => Child.start('test/bench/peers/peer-server.ts', envOf(store, queue));
  const startWorkers = async (store: string, queue: string): Promise<Child[]> => {
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => Child.start('test/bench/peers/peer-worker.ts', envOf(store, queue))));
    await Promise.all(workers.map((worker) => worker.ask('work')));
    return workers;
  };
  const drain = async (jobs: number, behind: number): Promise<Round> => {
    const store = await makeStore();
    const server = await startServer(store.address, 'drain');
    await server.ask('fill', { count: jobs + behind });
    const others = behind > 0 ? await startOthers(store.address) : undefined;
    const workers = await startWorkers(store.address, 'drain');
    try {
      const rate = await drained(server, workers, jobs, behind === 0);
      return { rate, ...(others && { bystanderMs: others.median() }) };
    } finally {
      for (const child of workers) await child.stop();
      await others?.stop();
      await server.stop();
      await store.stop();
    }
  };
  return {
    name,
    routes,
    open: async () => {
      const store = await makeStore();
      const servers = new Map<Route, Child>();
      for (const route of routes) servers.set(route, await startServer(store.address, route));
      const workers = routes.includes('runsync') ? await startWorkers(store.address, 'runsync') : [];
      return {
        load: (route) => ({ url: `${servers.get(route)!.ready.url}/${route}`, headers: { authorization: `Bearer ${key}` }, body: BODY, expect: EXPECT[route] }),
        stop: async () => {
          for (const child of [...workers, ...servers.values()]) await child.stop();
          await store.stop();
        },
      };
    },
    drain: drains ? (jobs) => drain(jobs, 0) : undefined,
    drainBefore: drains && inDatabase ? drain : undefined,
  };
}

/** The others in its database (bystander.ts). */
async function startOthers(url: string): Promise<{ median(): number; stop(): Promise<void> }> {
  const sql = postgres(url, { max: 2, onnotice: () => undefined });
  const release = await holdSnapshot(sql);
  const bystander = await startBystander(sql);
  return {
    median: () => bystander.median(),
    stop: async () => {
      await bystander.stop();
      await release();
      await sql.end();
    },
  };
}

/** Jobs a second, from the first handler to the look at which the store says that so many are done, or that the time is over. `all`: there are no more. */
async function drained(server: Child, workers: readonly Child[], jobs: number, all: boolean): Promise<number> {
  const countsOf = (): Promise<WorkerCount[]> => Promise.all(workers.map((worker) => worker.ask<WorkerCount>('count')));
  const end = performance.now() + DRAIN_MS_MAX;
  const sum = (counts: readonly WorkerCount[]): number => counts.reduce((total, count) => total + count.jobs, 0);
  let done = 0;
  while ((sum(await countsOf()) < jobs || (done = await server.ask<number>('done')) < jobs) && performance.now() < end) {
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
  }
  const doneMs = performance.timeOrigin + performance.now();
  const counts = await countsOf();
  if (all && done === jobs && sum(counts) !== jobs) throw new Error(`a peer ran ${sum(counts)} jobs of ${jobs}`);
  return (done || await server.ask<number>('done')) / ((doneMs - Math.min(...counts.map(({ firstMs }) => firstMs))) / 1_000);
}
