/** Reads logs of workers and pods from their agents, over sessions that this replica holds. */

import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { WorkerLogReply } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { JobLogPage, JobLogPlace } from '@slipway/proto/gen/slipway/v1/job_log';
import { DomainError } from '../../domain/settings/errors.ts';
import type { SessionTable } from '../session-table.ts';

/** Time an agent has to reply, in milliseconds. */
const ANSWER_MS_MAX = 10_000;
/** Most requests in flight: in all, as a log is up to 1 MiB, to one machine, which may hang, and of one account. */
const REQUESTS_MAX = 64;
const REQUESTS_PER_MACHINE_MAX = 16;
const REQUESTS_PER_ACCOUNT_MAX = 8;
const NO_LOG =
  'The machine has no log of it any more: of workers that ended it keeps those of a day, and of these the ' +
  'latest that its disk has space for. An agent that is killed loses the logs of the commands that ran.';

/** An agent of an earlier release finds no pod when lines are requested. Any other may not know the pod yet. */
const NO_POD_LINES =
  'The machine of this pod has no lines of it: it does not know the pod yet, or its agent is of an earlier release.';

/** A request for a log. */
export interface LogRequest {
  kind: 'worker' | 'pod';
  machineId: string;
  /** Id of a worker or pod. */
  id: string;
  /** Account of the caller. */
  accountId: string;
  tailBytes: number;
  /** Returns only lines of one attempt, or of all attempts, instead of the last `tailBytes`. */
  job?: JobLogPlace | undefined;
}

/** The end of a log, or lines of an attempt. */
export interface LogAnswer {
  log: Buffer;
  job?: JobLogPage | undefined;
}

interface Waiting {
  resolve(answer: LogAnswer): void;
  reject(error: unknown): void;
  timer: Timer;
  request: LogRequest;
}

export class WorkerLogs {
  readonly #table: SessionTable;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(table: SessionTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Returns true if this replica holds the machine's session. */
  reaches(machineId: string): boolean {
    return this.#table.get(machineId)?.isOpen ?? false;
  }

  /**
   * Reads the end of a log, at most `tailBytes`, or the lines of `job`. NOT_FOUND: the agent does not know the
   * worker. UNAVAILABLE: the agent does not reply; with `job` also: its release does not support it, or it does not
   * know the pod yet. RATE_LIMITED: too many logs are being read.
   */
  read(request: LogRequest): Promise<LogAnswer> {
    const session = this.#table.get(request.machineId);
    if (!session?.isOpen)
      return Promise.reject(new DomainError('UNAVAILABLE', 'The machine that keeps the log is not connected.'));
    if (this.#isAtLimit(request)) {
      return Promise.reject(new DomainError('RATE_LIMITED', 'Too many logs are being read; try again shortly.'));
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(ANSWER_MS_MAX, () => {
        this.#waiting.delete(id);
        reject(new DomainError('UNAVAILABLE', 'The machine that keeps the log did not answer in time.'));
      });
      this.#waiting.set(id, { resolve, reject, timer, request });
      session.requestLog({ requestId: id, workerId: request.id, tailBytes: request.tailBytes, job: request.job });
    });
  }

  /** Accepts an agent's reply. A reply from another machine than the requested one is ignored. */
  answer(machineId: string, { requestId, log, found, job }: WorkerLogReply): void {
    const waiting = this.#waiting.get(requestId);
    if (!waiting || waiting.request.machineId !== machineId) return;
    this.#waiting.delete(requestId);
    waiting.timer.cancel();
    const isOld = found && waiting.request.job && !job;
    if (isOld)
      waiting.reject(
        new DomainError('UNAVAILABLE', 'The agent of its machine is of a release that keeps no logs of jobs.'),
      );
    else if (found) waiting.resolve({ log, job });
    else if (waiting.request.kind === 'pod' && waiting.request.job)
      waiting.reject(new DomainError('UNAVAILABLE', NO_POD_LINES));
    else waiting.reject(new DomainError('NOT_FOUND', NO_LOG));
  }

  #isAtLimit({ machineId, accountId }: LogRequest): boolean {
    const others = [...this.#waiting.values()].map((waiting) => waiting.request);
    return (
      others.length >= REQUESTS_MAX ||
      others.filter((other) => other.machineId === machineId).length >= REQUESTS_PER_MACHINE_MAX ||
      others.filter((other) => other.accountId === accountId).length >= REQUESTS_PER_ACCOUNT_MAX
    );
  }
}
