/** Tells which releases of core may run on the database again. Pure. */

/** A release that has started on the database. */
export interface CoreReleaseRecord {
  version: string;
  /** Its newest migration: time of its creation in milliseconds since 1970, and name. */
  schema: number;
  schemaName: string;
  /** The oldest schema with which a core may run on a database that this release has migrated. */
  needsSchema: number;
  needsSchemaName: string;
  /** Why an older one may not. */
  needsReason: string;
  firstStartedAtMs: number;
  lastStartedAtMs: number;
}

/** Whether a release may run: as it is, with the option that allows it, or not at all. */
type RollbackState = 'RUNS' | 'RUNS_IF_ALLOWED' | 'CANNOT_RUN';

/** A release, and whether it may run on the database as it is now. */
export interface CoreReleaseState extends CoreReleaseRecord {
  rollback: RollbackState;
  /** Why it may not. Empty if it may. */
  reason: string;
}

/** Returns each of the releases with its state. The one with the newest schema has migrated the database. */
export function withRollback(releases: readonly CoreReleaseRecord[]): CoreReleaseState[] {
  const newest = releases.reduce<CoreReleaseRecord | undefined>(
    (latest, each) => (latest && latest.schema >= each.schema ? latest : each),
    undefined,
  );
  return releases.map((release) => {
    if (release.schema === newest!.schema) return { ...release, rollback: 'RUNS', reason: '' };
    if (release.schema >= newest!.needsSchema) return { ...release, rollback: 'RUNS_IF_ALLOWED', reason: '' };
    const reason = `core must have schema ${newest!.needsSchemaName} or a later one: ${newest!.needsReason}`;
    return { ...release, rollback: 'CANNOT_RUN', reason };
  });
}
