/** Lists the running parts of the installation and the releases of core on its database, for the operator. */
import type { ServedState } from '@slipway/kit/host/part-version';
import { partSupport } from '@slipway/kit/host/part-version';
import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { CoreReleaseState } from '../domain/reports/rollback.ts';
import { withRollback } from '../domain/reports/rollback.ts';
import type { Stores } from '../store/storage.ts';
import type { SeenPart, SeenParts } from './seen-parts.ts';

/** A version of a part that runs. */
interface RunningPart extends SeenPart {
  support: ServedState;
  /** Connected machines with this version; 0 for parts other than agents. */
  machines: number;
}

interface PartsContext {
  machines: Pick<Stores['machineViews'], 'agentVersions'>;
  seen: Pick<SeenParts, 'list'>;
  coreVersion: string;
  nowMs: number;
}

/** Returns them by name, then by version. Throws UNAUTHORIZED if the caller is not the operator. */
export async function listParts(
  caller: Caller,
  { machines, seen, coreVersion, nowMs }: PartsContext,
): Promise<RunningPart[]> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  const agents = (await machines.agentVersions()).map((agent) => ({ ...agent, name: 'agent', lastSeenAtMs: nowMs }));
  // Agents are read from their machines, whose sessions may be held by other replicas.
  const others = seen.list().filter(({ name }) => name !== 'agent');
  return [...agents, ...others.map((part) => ({ ...part, machines: 0 }))]
    .map((part) => ({ ...part, support: partSupport(coreVersion, part.version) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/**
 * Returns the releases of core that have started on the database, with whether they may again. Throws UNAUTHORIZED if
 * the caller is not the operator.
 */
export async function listCoreReleases(
  caller: Caller,
  releases: Pick<Stores['coreReleases'], 'list'>,
): Promise<CoreReleaseState[]> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  return withRollback(await releases.list());
}
