/** Pods as their rows have them. */
import type { pod } from '../../drizzle/schema/pod.ts';
import type { Pod } from '../domain/pod.ts';
import { podEnvIdentity } from '../domain/sealed-identity.ts';
import type { Sealer } from '../runtime/seal.ts';
import { openEnv } from './env-seals.ts';

/** A stored pod. */
export function podFromRow(
  sealer: Sealer,
  { envSealed, templateEnvSealed: _unshown, ...row }: typeof pod.$inferSelect,
): Pod {
  return {
    ...row,
    env: openEnv(sealer, { env: row.env, envSealed }, podEnvIdentity(row.id)),
    computeType: row.computeType as Pod['computeType'],
    desired: row.desired as Pod['desired'],
    state: row.state as Pod['state'],
  };
}
