/** Selects scanned jobs by how they ended: by time and by error group. */

import type { Clock } from '@slipway/kit/time/clock';
import { inSlices } from '@slipway/kit/time/in-slices';
import { isOfGroup } from '../../domain/jobs/error-groups.ts';
import type { JobWalk, ScannedJob } from '../../store/jobs/job-walk.ts';
import type { Stores } from '../../store/storage.ts';

interface ChooseEndedOptions {
  stores: Pick<Stores, 'jobs'>;
  clock: Clock;
}

/** Result of a selection. */
interface ChosenJobs {
  /**
   * The scanned prefix of `found`, at least one job. It is shorter than `found` where the errors of all would not fit
   * into one read.
   */
  examined: readonly ScannedJob[];
  /** The scanned jobs that match. */
  matches: ScannedJob[];
  /** Bytes of the errors that were read. */
  bytes: number;
}

/** Returns the matching jobs of `found`. Reads errors only if the walk names an error group. */
export async function chooseEnded(
  { stores, clock }: ChooseEndedOptions,
  walk: JobWalk,
  found: readonly ScannedJob[],
): Promise<ChosenJobs> {
  const group = walk.ended?.errorGroup;
  const late = found.filter(({ counts }) => counts);
  if (group === undefined || late.length === 0) return { examined: found, matches: late, bytes: 0 };
  const { errors, bytes } = await stores.jobs.errorParts(
    walk.endpointId,
    late.map(({ jobId }) => jobId),
  );
  const matches: ScannedJob[] = [];
  await inSlices(clock, errors.entries(), ([index, error]) => {
    const job = late[index]!;
    if (isOfGroup({ state: job.state, error }, group)) matches.push(job);
  });
  const next = late[errors.length];
  return { examined: next ? found.slice(0, found.indexOf(next)) : found, matches, bytes };
}
