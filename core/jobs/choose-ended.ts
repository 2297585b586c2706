/** Of jobs that a walk has come to those that are meant by how they ended: when, and what their errors say. */
import { isOfGroup } from '../domain/error-groups.ts';
import type { Clock } from '../runtime/clock.ts';
import { inSlices } from '../runtime/in-slices.ts';
import type { JobWalk, ScannedJob } from '../store/job-walk.ts';
import type { Stores } from '../store/storage.ts';

export interface ChooseEndedOptions {
  stores: Pick<Stores, 'jobs'>;
  clock: Clock;
}

/** What came of it. */
export interface ChosenJobs {
  /** The first of those that were found, or all: of no more are errors read at once. At least one. */
  looked: readonly ScannedJob[];
  /** Those of them that are meant. */
  matches: ScannedJob[];
  /** Of the errors that were read. */
  bytes: number;
}

/** Without a group nothing is read. */
export async function chooseEnded({ stores, clock }: ChooseEndedOptions, walk: JobWalk, found: readonly ScannedJob[]): Promise<ChosenJobs> {
  const group = walk.ended?.errorGroup;
  const late = found.filter(({ counts }) => counts);
  if (group === undefined || late.length === 0) return { looked: found, matches: late, bytes: 0 };
  const { errors, bytes } = await stores.jobs.errorParts(walk.endpointId, late.map(({ jobId }) => jobId));
  const matches: ScannedJob[] = [];
  await inSlices(clock, errors.entries(), ([index, error]) => {
    const job = late[index]!;
    if (isOfGroup({ state: job.state, error }, group)) matches.push(job);
  });
  const next = late[errors.length];
  return { looked: next ? found.slice(0, found.indexOf(next)) : found, matches, bytes };
}
