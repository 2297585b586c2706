/** All who run in the race. */
import type { Bench } from '../bench.ts';
import type { Contestant, Route } from './contestant.ts';
import type { PeerPackage } from './install.ts';
import { versionOf } from './install.ts';
import { slipway, slipwayPython } from './ours.ts';
import { peerOf } from './peer-contestant.ts';
import type { MakeStore } from './peer-store.ts';
import { inPostgres, inRedis, inRestate } from './peer-store.ts';

const BOTH: readonly Route[] = ['run', 'runsync'];

/** Slipway first. */
export interface Field {
  contestants: Contestant[];
  /** Who cannot take part here, and why. */
  absent: string[];
}

/** Who can run here. */
export function fieldOf(bench: Bench): Field {
  const store = inPostgres(bench);
  const field: Field = { contestants: [slipway(bench)], absent: [] };
  enter(field, slipwayPython(bench), 'Slipway, Python workers: there is no Python SDK below .slipway-test (npm run test:python)');
  field.contestants.push(
    inDatabase('pg-boss', 'pg-boss', 'pg-boss', store), inDatabase('graphile-worker', 'graphile', 'graphile-worker', store),
    inDatabase('graphile-worker batched', 'graphile-batched', 'graphile-worker', store),
  );
  const noRedis = 'BullMQ: there is no redis-server on the PATH (Debian: apt-get install redis-server)';
  for (const fsync of ['always', 'everysec'] as const) enter(field, elsewhere(`BullMQ ${fsync}`, 'bullmq', 'bullmq', inRedis(fsync)), noRedis);
  const restate = elsewhere('Restate', 'restate', '@restatedev/restate-server', inRestate());
  // A queue for workers that are not there is none of its ideas: it would try to reach them.
  enter(field, restate && { ...restate, routes: ['runsync'], drain: undefined }, 'Restate: its npm package has no program for this machine');
  field.contestants.push(
    peerOf({ name: 'Fastify alone', peer: 'no-commit', makeStore: store, routes: ['run'], drains: false, inDatabase: false }),
    peerOf({ name: 'Fastify, two commits', peer: 'two-commits', makeStore: store, routes: ['runsync'], drains: false, inDatabase: false }),
  );
  return field;
}

function enter(field: Field, contestant: Contestant | undefined, whyNot: string): void {
  if (contestant) field.contestants.push(contestant);
  else if (!field.absent.includes(whyNot)) field.absent.push(whyNot);
}

function inDatabase(name: string, peer: string, library: PeerPackage, makeStore: MakeStore): Contestant {
  return peerOf({ name: `${name} (${versionOf(library)})`, peer, makeStore, routes: BOTH, drains: true, inDatabase: true });
}

function elsewhere(name: string, peer: string, library: PeerPackage, makeStore: MakeStore | undefined): Contestant | undefined {
  return makeStore && peerOf({ name: `${name} (${versionOf(library)})`, peer, makeStore, routes: BOTH, drains: true, inDatabase: false });
}
