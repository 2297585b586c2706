/** Calls of a simulated worker at the functions behind the routes of the bridge. */
import type { BridgeParts } from '@slipway/gpu-agent/bridge/bridge-parts';
import type { HeldCall } from '@slipway/gpu-agent/bridge/open-polls';
import { postValue } from '@slipway/gpu-agent/bridge/stream-route';
import type { Worker } from '@slipway/gpu-agent/workloads/workers/worker';
import type { Being } from '../world/being.ts';

/** Posts a value as the routes of the bridge do. */
export async function postOne(parts: BridgeParts, worker: Worker, job: string, output: object): Promise<void> {
  const attempt = worker.outlives ? parts.holdings.get(worker.id)?.of(job) : undefined;
  if (attempt) parts.recorder.begun(attempt);
  const kept = await postValue(parts, worker, job, bodyOf({ output }));
  if (kept) parts.recorder.answered(kept);
}

/** Returns a body as a worker sends it. */
export function bodyOf(value: object): { bytes: Buffer } {
  return { bytes: Buffer.from(JSON.stringify(value)) };
}

/** A request that the agent holds open. `answered` receives the answer, `undefined` if there is nothing. */
export class HeldRequest implements HeldCall {
  readonly #process: Being;
  readonly #onClosed: () => void;
  readonly #answered: (body: string | undefined) => void;
  #isOpen = true;

  constructor(process: Being, onClosed: () => void, answered: (body: string | undefined) => void) {
    this.#process = process;
    this.#onClosed = onClosed;
    this.#answered = answered;
  }

  empty(): void {
    if (this.#close()) this.#answered(undefined);
  }

  async answer(body: readonly Uint8Array[]): Promise<boolean> {
    if (!this.#close() || this.#process.dead) return false;
    this.#answered(Buffer.concat(body).toString());
    return true;
  }

  #close(): boolean {
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.#onClosed();
    return true;
  }
}
