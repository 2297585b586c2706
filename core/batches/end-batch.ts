/** Ends batches. */
import type { Batch, BatchState } from '../domain/batches/batch.ts';
import type { BatchParts } from './batch-engine.ts';

const ID_LENGTH = 24;

/** Ends a batch, which makes the files of its results. Does nothing while some of its requests have not ended. */
export async function endBatch(
  { stores, random, logger }: Pick<BatchParts, 'stores' | 'random' | 'logger'>,
  { id, state, accountId }: Batch,
  to: BatchState,
): Promise<boolean> {
  const fileId = (): string => `file-${random.id(ID_LENGTH)}`;
  const ended = await stores.batchWork.end(id, state, to, { OUTPUT: fileId(), ERROR: fileId() });
  if (ended) logger.info({ batchId: id, accountId, state: to }, 'batch ended');
  return ended;
}
