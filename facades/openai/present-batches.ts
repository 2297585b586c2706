/** Presents files and batches as OpenAI does. */
import type { Batch } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import type { File } from '@slipway/proto/gen/slipway/v1/file_service';

const STATES: Record<BatchState, string> = {
  [BatchState.UNSPECIFIED]: 'validating',
  [BatchState.DRAFT]: 'validating',
  [BatchState.VALIDATING]: 'validating',
  [BatchState.IN_PROGRESS]: 'in_progress',
  [BatchState.EXPIRING]: 'finalizing',
  [BatchState.CANCELLING]: 'cancelling',
  [BatchState.COMPLETED]: 'completed',
  [BatchState.FAILED]: 'failed',
  [BatchState.EXPIRED]: 'expired',
  [BatchState.CANCELLED]: 'cancelled',
};

/** Returns a file. */
export function presentFile({ id, purpose, filename, bytes, createTime, expireTime }: File) {
  return {
    ...{ id, object: 'file', bytes, created_at: seconds(createTime), expires_at: seconds(expireTime) },
    ...{ filename, purpose, status: 'processed', status_details: null },
  };
}

/** Returns a batch. `stalled` is ours: why it does not advance. */
export function presentBatch(batch: Batch) {
  const { id, state, route, model, inputFileId, outputFileId, errorFileId, metadata, faults, stalled } = batch;
  const ended = (...states: BatchState[]): number | null => (states.includes(state) ? seconds(batch.endTime) : null);
  const data = faults.map(({ code, message, line }) => ({ code, message, param: null, line: line ?? null }));
  return {
    ...{ id, object: 'batch', endpoint: route, model: model || null, input_file_id: inputFileId },
    errors: state === BatchState.FAILED ? { object: 'list', data } : null,
    ...{ completion_window: '24h', status: STATES[state] },
    output_file_id: outputFileId || null,
    error_file_id: errorFileId || null,
    created_at: seconds(batch.createTime),
    in_progress_at: seconds(batch.startTime),
    expires_at: seconds(batch.expireTime),
    finalizing_at: ended(BatchState.COMPLETED),
    completed_at: ended(BatchState.COMPLETED),
    failed_at: ended(BatchState.FAILED),
    expired_at: ended(BatchState.EXPIRED),
    cancelling_at: seconds(batch.cancelTime),
    cancelled_at: ended(BatchState.CANCELLED),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    metadata: Object.keys(metadata).length === 0 ? null : metadata,
    ...(stalled !== '' && { stalled }),
  };
}

/** Returns a page of a list. */
export function presentList(data: readonly { id: string }[], more: boolean) {
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: more };
}

function seconds(time: Date | undefined): number | null {
  return time === undefined ? null : Math.floor(time.getTime() / 1_000);
}
