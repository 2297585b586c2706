/** All peers by name. */
import { bullMq } from './bullmq.ts';
import { graphile } from './graphile.ts';
import type { Peer } from './peer.ts';
import { pgBoss } from './pg-boss.ts';

export const PEERS: Record<string, Peer> = {
  bullmq: bullMq, 'pg-boss': pgBoss, graphile: graphile(false), 'graphile-batched': graphile(true),
};
