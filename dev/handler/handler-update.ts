/**
 * Handles a change of the served handler's files: replaces its workers and reports to the user which files changed and
 * when.
 */
import { basename, dirname, relative } from 'node:path';
import type { CoreServices } from '@slipway/facades/core-client/core-services';
import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { by } from '../call-by.ts';

/** The served handler and where to report. */
export interface ServedHandler {
  core: CoreServices;
  apiKey: string;
  endpointId: string;
  /** Path of the handler's file. */
  file: string;
  /** Makes the environment of a changed requirements.txt and lets the endpoint run in it. */
  prepareAnew(): Promise<void>;
  report(line: string): void;
  problem(text: string): void;
}

/**
 * Replaces the workers after a change. Never rejects: failures are reported, and the workers stay as they are until the
 * next change.
 */
export async function updateHandler(served: ServedHandler, changed: readonly string[]): Promise<void> {
  const { core, apiKey, endpointId, file, report, problem } = served;
  const names = changed.map((path) => relative(dirname(file), path)).join(', ');
  try {
    const { workers } = await core.machines.call((client) => client.listWorkers, { endpointId }, by(apiKey));
    if (changed.some((path) => basename(path) === 'requirements.txt')) {
      report(`${names} changed: making the environment first`);
      // A different environment means a different command, and a changed command replaces the workers.
      await served.prepareAnew();
    } else await core.endpoints.call((client) => client.restartEndpoint, { id: endpointId }, by(apiKey));
    report(`${names} changed: ${whatHappens(workers)}`);
  } catch (error) {
    problem(`${names} changed, but the workers go on as they are: ${(error as Error).message}`);
  }
}

function whatHappens(workers: readonly Worker[]): string {
  const ids = (wanted: (worker: Worker) => boolean): string => {
    const found = workers
      .filter(({ state }) => state === WorkerState.READY || state === WorkerState.INITIALIZING)
      .filter(wanted)
      .map(({ id }) => id);
    return found.length === 0 ? '' : `${found.length === 1 ? 'worker' : 'workers'} ${found.join(', ')}`;
  };
  const idle = ids(({ held }) => held === 0);
  const busy = ids(({ held }) => held > 0);
  const parts = [
    idle && `${idle} replaced`,
    busy && `${busy} replaced after ${busy.startsWith('workers') ? 'their jobs' : 'its job'}`,
  ].filter(Boolean);
  return parts.join(', ') || 'the next worker runs it';
}
