/** Converts rows of pods. */
import type { pod } from '@slipway/drizzle/schema/pod';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Pod } from '../../domain/pods/pod.ts';
import { podEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import { openEnv } from '../sql/env-seals.ts';

/** Returns a pod from its row. */
export function podFromRow(
  sealer: Sealer,
  { envSealed, templateEnvSealed: _unshown, secretNames: _names, ...row }: typeof pod.$inferSelect,
): Pod {
  return {
    ...row,
    env: openEnv(sealer, { env: row.env, envSealed }, podEnvIdentity(row.id)),
    computeType: row.computeType as Pod['computeType'],
    desired: row.desired as Pod['desired'],
    state: row.state as Pod['state'],
  };
}
