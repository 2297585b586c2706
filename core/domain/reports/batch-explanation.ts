/** Explains how far the batches are whose requests an endpoint runs: as fields and as a sentence. Pure. */

/** A batch that has not ended, as far as one endpoint has its requests. */
export interface EndpointBatch {
  id: string;
  /** Requests of the whole batch, and how many of them have ended. */
  total: number;
  ended: number;
  /** Waiting and running requests that are jobs of this endpoint. */
  waiting: number;
  running: number;
  /** Why it does not advance. Empty: it does. */
  stalled: string;
}

/** A batch, with a sentence. */
export interface BatchExplanation extends EndpointBatch {
  reason: string;
}

/** Returns the explanations. `isNamed`: the caller may see which batches they are. */
export function explainBatches(batches: readonly EndpointBatch[], isNamed: boolean): BatchExplanation[] {
  return batches.map((batch) => ({ ...batch, id: isNamed ? batch.id : '', reason: batchText(batch) }));
}

function batchText({ total, ended, waiting, running, stalled }: EndpointBatch): string {
  const why = stalled === '' ? '' : `; ${stalled}`;
  return `${ended} of ${total} requests have ended; here ${waiting} wait at low priority and ${running} run${why}`;
}
