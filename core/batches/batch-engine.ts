/** Dependencies of the parts that let batches advance. */

import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { NO_PERMISSIONS } from '../domain/accounts/permission.ts';
import type { Batch } from '../domain/batches/batch.ts';
import type { FileLimits } from '../domain/batches/file.ts';
import { filePieceIdentity } from '../domain/settings/sealed-identity.ts';
import type { ModelDirectory } from '../endpoints/model-directory.ts';
import type { BatchJobCalls } from '../jobs/job-engine.ts';
import type { Stores } from '../store/storage.ts';
import type { ArrivalRecorder } from './arrival-recorder.ts';

/** Dependencies of the steps. */
export interface BatchParts {
  stores: Pick<Stores, 'batchWork' | 'files' | 'models'>;
  jobs: BatchJobCalls;
  models: Pick<ModelDirectory, 'resolve'>;
  arrivals: Pick<ArrivalRecorder, 'count'>;
  sealer: Sealer;
  limits: FileLimits;
  /** Work on texts of users, fair by account. */
  checks: SlicedWork;
  /** Called with the number of requests that have ended. */
  onEnded: (outcome: 'completed' | 'failed', requests: number) => void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Returns the holder of a batch, as far as it concerns which endpoints its requests may use. */
export function holderOf({ accountId, keyId, endpointIds }: Batch): Caller {
  return { accountId, keyId, endpointIds, scope: 'ALL', permissions: NO_PERMISSIONS };
}

/** Returns the bytes of a batch's file from `start`, about `bytesMax` of them but no less than one piece. */
export async function readInput(
  { stores, sealer }: Pick<BatchParts, 'stores' | 'sealer'>,
  fileId: string,
  { start, end, bytesMax }: { start: number; end: number; bytesMax: number },
): Promise<Buffer> {
  const pieces = await stores.files.pieces(fileId, start, end, bytesMax);
  const opened = pieces.map((piece) => sealer.open(piece.sealed, filePieceIdentity(fileId, piece.start)));
  return Buffer.concat(opened).subarray(start - (pieces[0]?.start ?? start));
}
