/** All peers by name. */

import { noCommit, twoCommits } from './bare.ts';
import { bullMq } from './bullmq.ts';
import { graphile } from './graphile.ts';
import type { Peer } from './peer.ts';
import { pgBoss } from './pg-boss.ts';
import { restate } from './restate.ts';

export const PEERS: Record<string, Peer> = {
  bullmq: bullMq,
  'pg-boss': pgBoss,
  graphile: graphile(false),
  'graphile-batched': graphile(true),
  restate,
  'no-commit': noCommit,
  'two-commits': twoCommits,
};
