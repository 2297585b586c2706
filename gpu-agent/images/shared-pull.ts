/** A pull that several workloads share: its progress, and the end of waiting when one of them is aborted. */

import type { StoredImage } from './image-store.ts';

/** Pull that every workload which wants the image waits for. */
export interface SharedPull {
  done: Promise<StoredImage>;
  listeners: Set<(text: string) => void>;
  /** Last progress line, for workloads that join later. */
  text: string;
  abort: AbortController;
}

/** Sends a progress line to everyone who waits for this pull. */
export function reportProgress(shared: SharedPull, text: string): void {
  shared.text = text;
  for (const listener of shared.listeners) listener(text);
}

/** Rejects with the signal's reason when it aborts; never resolves. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
