/** Removes the files of a worker that has ended, and archives its log. */

import type { WorkerParts } from './worker-parts.ts';

/** A worker that has ended: its ids and its log. */
interface EndedWorker {
  readonly id: string;
  readonly endpointId: string;
  readonly log: { kept(): Parameters<WorkerParts<never>['archive']['keep']>[1] };
}

/** Archives the log, then removes the scratch folder. Never rejects: failures are logged. */
export async function removeWorker(
  { id, endpointId, log }: EndedWorker,
  { archive, launcher, logger, spansOf }: Pick<WorkerParts<never>, 'archive' | 'launcher' | 'logger' | 'spansOf'>,
): Promise<void> {
  const warn =
    (what: string) =>
    (error: unknown): void =>
      logger.warn({ err: error, workerId: id, endpointId }, what);
  await archive.keep({ id, owner: endpointId }, log.kept(), spansOf(id)).catch(warn('worker log was not archived'));
  await launcher.dropScratch(id).catch(warn('scratch folder was not removed'));
}
