/** Presents a batch to programs, with the names of the contract, and to people. */

import type { Batch, BatchFault } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Output } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago, moment, variables } from '../output/words.ts';

/** Faults that are shown to people. */
const FAULTS_SHOWN = 20;
const FINAL = new Set<BatchState>([BatchState.COMPLETED, BatchState.FAILED, BatchState.EXPIRED, BatchState.CANCELLED]);

/** Returns the record for programs. */
export function presentBatch({ state, ...batch }: Batch) {
  return { ...batch, state: enumName(BatchState, state) };
}

/** Returns whether the batch has ended. */
export function hasEnded({ state }: Batch): boolean {
  return FINAL.has(state);
}

/** Returns the state as people read it: `in progress`. */
export function stateText({ state }: Batch): string {
  return enumName(BatchState, state).toLowerCase().replaceAll('_', ' ');
}

/** Returns the columns of the list. */
export function batchColumns(nowMs: number): Column<Batch>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'STATE', text: stateText },
    { title: 'MODEL', text: ({ model }) => model },
    { title: 'ROUTE', text: ({ route }) => route },
    { title: 'ENDPOINT', text: ({ endpointId }) => endpointId },
    { title: 'REQUESTS', text: ({ total }) => String(total), right: true },
    { title: 'COMPLETED', text: ({ completed }) => String(completed), right: true },
    { title: 'FAILED', text: ({ failed }) => String(failed), right: true },
    { title: 'CREATED', text: ({ createTime }) => ago(createTime, nowMs) },
    { title: 'WHY', text: whyText },
  ];
}

/** Shows a batch to a person. */
export function showBatch(output: Output, batch: Batch): void {
  const { faults } = batch;
  const nowMs = output.nowMs();
  output.fields([
    ['id', batch.id],
    ['state', stateText(batch)],
    ['stalled', batch.stalled],
    ['model', batch.model],
    ['route', batch.route],
    ['endpoint', batch.endpointId],
    ['requests', batch.total],
    ['completed', batch.completed],
    ['failed', batch.failed],
    ['jobs now', batch.submitted],
    ['oldest job', batch.oldestJobId],
    ['input file', batch.inputFileId],
    ['output file', batch.outputFileId],
    ['error file', batch.errorFileId],
    ['metadata', variables(batch.metadata)],
    ['created', moment(batch.createTime, nowMs)],
    ['started', moment(batch.startTime, nowMs)],
    ['cancelled', moment(batch.cancelTime, nowMs)],
    ['ended', moment(batch.endTime, nowMs)],
    ['ends by', hasEnded(batch) ? undefined : batch.expireTime?.toISOString()],
    ['faults', faults.slice(0, FAULTS_SHOWN).map(faultText).join('\n')],
  ]);
  if (faults.length > FAULTS_SHOWN) output.note(`There are ${faults.length} faults; --json shows all of them.`);
}

/** Returns why a batch does not advance, or why it was refused. */
function whyText({ stalled, faults }: Batch): string {
  const [fault] = faults;
  return stalled || (fault ? faultText(fault) : '');
}

function faultText({ line, message }: BatchFault): string {
  return line === undefined ? message : `line ${line}: ${message}`;
}
