/** Who runs in the race, and how each is started: with a store, a server and workers of its own, which nobody else uses. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { drainOnce } from '../backlog.ts';
import type { Bench } from '../bench.ts';
import { INPUT } from '../bench.ts';
import { Child } from '../child.ts';
import type { Load } from '../load-generator.ts';
import { SHAPES, startMachine, workerCommand } from '../machine.ts';
import { startStack } from '../stack.ts';
import type { PeerPackage } from './install.ts';
import { versionOf } from './install.ts';
import { findRedis, startRedis } from './redis.ts';
import type { Fsync } from './redis.ts';
import type { WorkerCount } from './peer-worker.ts';

/** The routes that are raced. */
export type Route = 'run' | 'runsync';

/** A started one. */
export interface Opened {
  load(route: Route): Pick<Load, 'url' | 'headers' | 'body' | 'expect'>;
  stop(): Promise<void>;
}

export interface Contestant {
  name: string;
  /** Nothing of it is open yet. `run` jobs wait for nobody; those of `runsync` are worked on. */
  open(): Promise<Opened>;
  /** Stores jobs, lets workers come, and answers jobs a second from the first handler to the last outcome. Throws when not each has exactly one outcome. */
  drain(jobs: number): Promise<number>;
}

const WORKERS = 2;
const BODY = `{"input":${INPUT}}`;
const EXPECT: Record<Route, string> = { run: '"IN_QUEUE"', runsync: '"done":true' };
/** Who has not drained its queue by then is judged by what it did until then. */
const DRAIN_MS_MAX = 60_000;
const LOOK_MS = 20;

/** Slipway through its real agent and JavaScript workers. */
export function slipway(bench: Bench): Contestant {
  return {
    name: 'Slipway',
    open: async () => {
      const stack = await startStack(bench);
      const endpoints = { run: await stack.createEndpoint(0, workerCommand()), runsync: await stack.createEndpoint(SHAPES.agent.workers, workerCommand()) };
      const machine = await startMachine(stack, 'agent', endpoints.runsync);
      return {
        load: (route) => ({
          url: `${stack.url}/v2/${endpoints[route]}/${route}`, headers: { authorization: `Bearer ${stack.key}` }, body: BODY, expect: EXPECT[route],
        }),
        stop: async () => { await machine.stop(); await stack.stop(); },
      };
    },
    drain: async (jobs) => {
      const stack = await startStack(bench);
      try {
        return (await drainOnce(stack, 'agent', jobs)).rate;
      } finally {
        await stack.stop();
      }
    },
  };
}

/** Where a peer keeps its jobs, made for it. */
type MakeStore = () => Promise<{ address: string; stop(): Promise<void> }>;

/** A database of its own on the server that Slipway's are on. */
export function inPostgres(bench: Bench): MakeStore {
  return async () => {
    const name = `peer_${randomBytes(4).toString('hex')}`;
    const admin = postgres(bench.database.url, { max: 1 });
    await admin`CREATE DATABASE ${admin(name)}`;
    return {
      address: bench.database.url.replace(/\/[^/]*$/, `/${name}`),
      stop: async () => { await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`; await admin.end(); },
    };
  };
}

/** A Redis of its own; undefined: none is installed. */
export function inRedis(fsync: Fsync): MakeStore | undefined {
  const program = findRedis();
  return program === undefined ? undefined : async () => {
    const { socket, stop } = await startRedis(program, fsync);
    return { address: socket, stop };
  };
}

/** A peer behind the same bare Fastify with a check of a key. `peer`: its name in peers.ts. */
export function peerOf(name: string, peer: string, library: PeerPackage, makeStore: MakeStore): Contestant {
  const key = randomBytes(16).toString('hex');
  const envOf = (store: string, queue: string) => ({ BENCH_PEER: peer, BENCH_STORE: store, BENCH_QUEUE: queue, BENCH_KEY: key });
  const startWorkers = async (store: string, queue: string): Promise<Child[]> => {
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => Child.start('test/bench/peers/peer-worker.ts', envOf(store, queue))));
    await Promise.all(workers.map((worker) => worker.ask('work')));
    return workers;
  };
  return {
    name: `${name} (${versionOf(library)})`,
    open: async () => {
      const store = await makeStore();
      const start = (route: Route): Promise<Child> => Child.start('test/bench/peers/peer-server.ts', envOf(store.address, route));
      const servers = { run: await start('run'), runsync: await start('runsync') };
      const workers = await startWorkers(store.address, 'runsync');
      return {
        load: (route) => ({ url: `${servers[route].ready.url}/${route}`, headers: { authorization: `Bearer ${key}` }, body: BODY, expect: EXPECT[route] }),
        stop: async () => {
          for (const child of [...workers, servers.run, servers.runsync]) await child.stop();
          await store.stop();
        },
      };
    },
    drain: async (jobs) => {
      const store = await makeStore();
      const server = await Child.start('test/bench/peers/peer-server.ts', envOf(store.address, 'drain'));
      await server.ask('fill', { count: jobs });
      const workers = await startWorkers(store.address, 'drain');
      try {
        return await drained(server, workers, jobs);
      } finally {
        for (const child of [...workers, server]) await child.stop();
        await store.stop();
      }
    },
  };
}

/** From the first handler to the look at which the store says that all are done, or that the time is over. */
async function drained(server: Child, workers: readonly Child[], jobs: number): Promise<number> {
  const countsOf = (): Promise<WorkerCount[]> => Promise.all(workers.map((worker) => worker.ask<WorkerCount>('count')));
  const end = performance.now() + DRAIN_MS_MAX;
  const sum = (counts: readonly WorkerCount[]): number => counts.reduce((total, count) => total + count.jobs, 0);
  let done = 0;
  while ((sum(await countsOf()) < jobs || (done = await server.ask<number>('done')) < jobs) && performance.now() < end) {
    await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
  }
  const doneMs = performance.timeOrigin + performance.now();
  const counts = await countsOf();
  if (done === jobs && sum(counts) !== jobs) throw new Error(`a peer ran ${sum(counts)} jobs of ${jobs}`);
  return (done || await server.ask<number>('done')) / ((doneMs - Math.min(...counts.map(({ firstMs }) => firstMs))) / 1_000);
}
