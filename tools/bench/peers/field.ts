/** All contestants of the race. */
import type { Bench } from '../stack/bench.ts';
import type { Contestant, Route } from './contestant.ts';
import type { PeerPackage } from './install.ts';
import { versionOf } from './install.ts';
import { slipway, slipwayAlone, slipwayPython } from './ours.ts';
import { peerOf } from './peer-contestant.ts';
import type { MakeStore } from './peer-store.ts';
import { inPostgres, inRedis, inRestate } from './peer-store.ts';

const BOTH: readonly Route[] = ['run', 'runsync'];

/** Contestants, Slipway first. */
export interface Field {
  contestants: Contestant[];
  /** Contestants that cannot take part here, with the reason. */
  absent: string[];
}

/** Returns the contestants that can run here. `missing`: packages that could not be installed, with the reason. */
export function fieldOf(bench: Bench, missing: ReadonlyMap<PeerPackage, string>): Field {
  const field: Field = { contestants: [slipway(bench), slipwayAlone(bench)], absent: [] };
  const python = slipwayPython(bench);
  if (python) field.contestants.push(python);
  else field.absent.push('Slipway, Python workers: there is no Python SDK below .slipway-test (npm run test:python)');
  const store = inPostgres(bench);
  for (const entry of [...inDatabase(store), ...elsewhere()]) {
    const lacks = entry.packages.find((name) => missing.has(name));
    const whyNoStore = entry.makeStore ? undefined : entry.whyNoStore;
    const whyNot = lacks ? `npm cannot install ${lacks} ${versionOf(lacks)}: ${missing.get(lacks)}` : whyNoStore;
    if (whyNot !== undefined) field.absent.push(`${entry.name}: ${whyNot}`);
    else field.contestants.push(contestantOf(entry));
  }
  const bare = { makeStore: store, drains: false, inDatabase: false, hasWorkers: false };
  field.contestants.push(
    peerOf({ name: 'Fastify alone', peer: 'no-commit', routes: ['run'], ...bare }),
    peerOf({ name: 'Fastify, two commits', peer: 'two-commits', routes: ['runsync'], ...bare }),
  );
  return field;
}

interface Entry {
  name: string;
  peer: string;
  /** Packages to install. The report shows the version of the first one. */
  packages: readonly PeerPackage[];
  makeStore: MakeStore | undefined;
  whyNoStore?: string;
  inDatabase: boolean;
  /**
   * True if jobs can be queued for workers that do not exist yet. Restate cannot: it would try to reach the workers.
   */
  queues: boolean;
}

function inDatabase(makeStore: MakeStore): Entry[] {
  const common = { makeStore, inDatabase: true, queues: true };
  return [
    { name: 'pg-boss', peer: 'pg-boss', packages: ['pg-boss'], ...common },
    { name: 'graphile-worker', peer: 'graphile', packages: ['graphile-worker'], ...common },
    { name: 'graphile-worker batched', peer: 'graphile-batched', packages: ['graphile-worker'], ...common },
  ];
}

function elsewhere(): Entry[] {
  const bullMq = (['always', 'everysec'] as const).map(
    (fsync): Entry => ({
      name: `BullMQ ${fsync}`,
      peer: 'bullmq',
      packages: ['bullmq', 'ioredis'],
      makeStore: inRedis(fsync),
      whyNoStore: 'there is no redis-server on the PATH (Debian: apt-get install redis-server)',
      inDatabase: false,
      queues: true,
    }),
  );
  const restate: Entry = {
    name: 'Restate',
    peer: 'restate',
    packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
    makeStore: inRestate(),
    whyNoStore: 'its npm package has no program for this machine',
    inDatabase: false,
    queues: false,
  };
  return [...bullMq, restate];
}

function contestantOf({ name, peer, packages, makeStore, inDatabase: ofDatabase, queues }: Entry): Contestant {
  return peerOf({
    name: `${name} (${versionOf(packages[0]!)})`,
    peer,
    makeStore: makeStore!,
    routes: queues ? BOTH : ['runsync'],
    drains: queues,
    inDatabase: ofDatabase,
  });
}
