/** A started peer: its own store, the server in front of it, and workers on demand. */
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { Child } from '../child.ts';
import type { Kept } from './peer.ts';
import type { MakeStore } from './peer-store.ts';
import type { WorkerCount } from './peer-worker.ts';

const WORKERS = 2;
/** Longest wait for outcomes, in milliseconds. A peer may report an outcome to a caller shortly before it is stored. */
const SETTLED_MS_MAX = 10_000;

/** The peer to start. */
interface PeerStart {
  /** Its name in peers.ts. */
  peer: string;
  makeStore: MakeStore;
  queue: string;
  /** Key that callers must present. */
  key: string;
}

export class RunningPeer {
  /** See PeerStore. */
  readonly address: string;
  readonly server: Child;
  readonly #env: Record<string, string>;
  readonly #stops: (() => Promise<void>)[];
  #workers: Child[] = [];

  private constructor(address: string, server: Child, env: Record<string, string>, stops: (() => Promise<void>)[]) {
    this.address = address;
    this.server = server;
    this.#env = env;
    this.#stops = stops;
  }

  /** Starts the peer without workers. */
  static async start({ peer, makeStore, queue, key }: PeerStart): Promise<RunningPeer> {
    const store = await makeStore();
    const env = { BENCH_PEER: peer, BENCH_STORE: store.address, BENCH_QUEUE: queue, BENCH_KEY: key };
    try {
      const server = await Child.start('tools/bench/peers/peer-server.ts', env);
      return new RunningPeer(store.address, server, env, [() => store.stop(), () => server.stop()]);
    } catch (error) {
      await store.stop();
      throw error;
    }
  }

  async startWorkers(): Promise<void> {
    for (let count = 0; count < WORKERS; count += 1)
      this.#workers.push(await Child.start('tools/bench/peers/peer-worker.ts', this.#env));
    await Promise.all(this.#workers.map((worker) => worker.ask('work')));
  }

  async stopWorkers(): Promise<void> {
    for (const worker of this.#workers.splice(0)) await worker.stop();
  }

  /** Returns the number of calls of all workers' handlers, and the time of the first one. */
  async handled(): Promise<Required<WorkerCount>> {
    const counts = await Promise.all(this.#workers.map((worker) => worker.ask<WorkerCount>('count')));
    return {
      jobs: counts.reduce((sum, { jobs }) => sum + jobs, 0),
      firstMs: Math.min(...counts.flatMap(({ firstMs }) => firstMs ?? [])),
    };
  }

  /** Throws unless this many jobs are done, each with the output and after one call of a handler, and none waits. */
  async checkDone(jobs: number): Promise<void> {
    const { jobs: handled } = await this.handled();
    if (this.#workers.length > 0 && handled !== jobs)
      throw new Error(`${this.#env.BENCH_PEER} ran ${handled} jobs instead of ${jobs}`);
    await this.#check({ waiting: 0, done: jobs, wrong: 0 });
  }

  /** Throws unless this many jobs are stored and still unchanged. */
  async checkWaiting(jobs: number): Promise<void> {
    await this.#check({ waiting: jobs, done: 0, wrong: 0 });
  }

  /** Throws unless each of this many jobs waits or is done with the output, with at least `done` of them done. */
  async checkBoth(jobs: number, done: number): Promise<void> {
    const kept = await this.server.ask<Kept | undefined>('kept');
    if (kept && (kept.waiting + kept.done !== jobs || kept.done < done || kept.wrong > 0))
      throw this.#wrong(kept, `${jobs} in all`);
  }

  async #check(wanted: Kept): Promise<void> {
    let kept: Kept | undefined;
    const isSettled = async (): Promise<boolean> => {
      kept = await this.server.ask<Kept | undefined>('kept');
      return (
        kept === undefined ||
        (kept.waiting === wanted.waiting && kept.done === wanted.done && kept.wrong === wanted.wrong)
      );
    };
    await waitFor('outcomes', isSettled, SETTLED_MS_MAX).catch(() => {
      throw this.#wrong(kept, JSON.stringify(wanted));
    });
  }

  #wrong(kept: Kept | undefined, wanted: string): Error {
    return new Error(`${this.#env.BENCH_PEER} has ${JSON.stringify(kept)} instead of ${wanted}`);
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    for (const stop of this.#stops.toReversed()) await stop();
  }
}
