/** A peer in the race: behind the same bare Fastify with a check of a key, and with two worker processes. */
import { randomBytes } from 'node:crypto';
import type { Contestant, Opened, Route } from './contestant.ts';
import { BODY, EXPECT } from './contestant.ts';
import { drainBefore, drainOnce } from './peer-drain.ts';
import type { MakeStore } from './peer-store.ts';
import { PEERS } from './peers.ts';
import { RunningPeer } from './running-peer.ts';

/** Settings of a peer. */
interface PeerOptions {
  /** Name in the report. */
  name: string;
  /** Its name in peers.ts. */
  peer: string;
  makeStore: MakeStore;
  routes: readonly Route[];
  /** True if it keeps jobs for later workers and reports which jobs are done. */
  drains: boolean;
  /** True if its store is a database that others may use too. */
  inDatabase: boolean;
  /** Default: true. */
  hasWorkers?: boolean;
}

/** Returns a contestant that runs the peer. */
export function peerOf({
  name,
  peer,
  makeStore,
  routes,
  drains,
  inDatabase,
  hasWorkers = true,
}: PeerOptions): Contestant {
  const key = randomBytes(16).toString('hex');
  const start = (queue: string): Promise<RunningPeer> => RunningPeer.start({ peer, makeStore, queue, key });
  const open = async (route: Route): Promise<Opened> => {
    const running = await start(route);
    let jobs = 0;
    try {
      if (hasWorkers && route === 'runsync') await running.startWorkers();
    } catch (error) {
      await running.stop();
      throw error;
    }
    return {
      load: {
        url: `${running.server.ready.url}/${route}`,
        headers: { authorization: `Bearer ${key}` },
        body: BODY,
        expect: EXPECT[route],
      },
      verify: async (answers) => {
        jobs += answers;
        await (route === 'run' ? running.checkWaiting(jobs) : running.checkDone(jobs));
      },
      stop: () => running.stop(),
    };
  };
  const using = async <Answer>(work: (running: RunningPeer) => Promise<Answer>): Promise<Answer> => {
    const running = await start('drain');
    try {
      return await work(running);
    } finally {
      await running.stop();
    }
  };
  return {
    name,
    settings: PEERS[peer]!.settings,
    routes,
    open,
    drain: drains ? (jobs) => using((running) => drainOnce(running, jobs)) : undefined,
    drainBefore: drains && inDatabase ? (long) => using((running) => drainBefore(running, long)) : undefined,
  };
}
