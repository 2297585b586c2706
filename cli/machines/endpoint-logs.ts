/** `slipway logs ENDPOINT`: the lines of all workers of an endpoint, each with its worker. */

import { printableLog } from '@slipway/kit/log/printable';
import { delay } from '@slipway/kit/time/clock';
import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import type { LogTailOptions } from './worker-log.ts';
import { LogLines, workerLog } from './worker-log.ts';

const PAUSE_MS = 1_000;
/** Workers whose logs are followed at once. Each costs a call a second. */
const WORKERS_MAX = 30;

/** Writes the logs of the workers. With `follow` it continues, also with workers that start later. */
export async function showEndpointLogs(
  cli: Cli,
  endpointId: string,
  { follow = false, tail }: LogTailOptions,
): Promise<void> {
  const logs = new EndpointLogs(cli, endpointId, tail);
  for (;;) {
    await retryWhileAway(cli, () => logs.writeNew(!follow));
    if (!follow) return;
    await delay(cli.clock, PAUSE_MS, cli.stopping);
  }
}

class EndpointLogs {
  readonly #cli: Cli;
  readonly #endpointId: string;
  readonly #tail: number;
  readonly #logs = new Map<string, LogLines>();
  #isFirst = true;
  #hasNoted = false;

  constructor(cli: Cli, endpointId: string, tail: number) {
    this.#cli = cli;
    this.#endpointId = endpointId;
    this.#tail = tail;
  }

  /** Writes the lines since the last call. `whole`: also what follows the last line end. */
  async writeNew(whole: boolean): Promise<void> {
    const workers = await this.#workers();
    // A worker that starts while the log is followed is shown from its beginning.
    for (const { id } of workers)
      if (!this.#logs.has(id)) this.#logs.set(id, this.#open(id, this.#isFirst ? this.#tail : Infinity));
    this.#isFirst = false;
    for (const [id, log] of [...this.#logs].slice(-WORKERS_MAX)) await this.#writeLog(id, log, whole);
    // The last lines of workers that ended have been written now.
    const present = new Set(workers.map(({ id }) => id));
    for (const id of this.#logs.keys()) if (!present.has(id)) this.#logs.delete(id);
  }

  async #workers(): Promise<Worker[]> {
    const { core, output } = this.#cli;
    const workers = await allPages(
      (page) => core.machines.call((client) => client.listWorkers, { endpointId: this.#endpointId, ...page }),
      (response) => response.workers,
    );
    const note = noteOf(workers.length);
    if (note !== '' && !this.#hasNoted) output.note(note);
    this.#hasNoted ||= note !== '';
    return workers.slice(-WORKERS_MAX);
  }

  async #writeLog(workerId: string, log: LogLines, whole: boolean): Promise<void> {
    const { output } = this.#cli;
    try {
      const lines = await log.next();
      for (const line of whole ? [...lines, ...log.rest()] : lines)
        output.line(
          output.json
            ? JSON.stringify({ worker: workerId, line })
            : `${output.style('dim', workerId)} ${printableLog(line)}`,
        );
    } catch (error) {
      // The log of one worker may be out of reach: of a machine that is away, or that has just made room.
      if (!(error instanceof CoreError) || !['NOT_FOUND', 'UNAVAILABLE'].includes(error.reason)) throw error;
    }
  }

  #open(workerId: string, tail: number): LogLines {
    return new LogLines(workerLog(this.#cli, workerId), tail);
  }
}

/** Returns a note for the user about the number of workers; empty if there is nothing to say. */
function noteOf(workers: number): string {
  if (workers === 0) return 'The endpoint has no workers now; "slipway why" gives the reason.';
  if (workers <= WORKERS_MAX) return '';
  return `The endpoint has ${workers} workers; the newest ${WORKERS_MAX} are shown.`;
}
