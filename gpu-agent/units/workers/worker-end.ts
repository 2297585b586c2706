/** How one worker ended, or will: what its agent said of that first, and how its program ended. */
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { UnitExit } from '../../executors/executor.ts';
import { PrepareError } from '../../executors/executor.ts';
import { describeExit, endReason, exitAdvice, REASON_LOG_BYTES, withLog } from '../../launch/end-reason.ts';
import type { LogRing } from '../../launch/log-ring.ts';
import type { EndStatus } from './worker-want.ts';

export class WorkerEnd {
  #verdict: EndStatus | undefined;
  #exit: UnitExit | undefined;
  #reason = '';
  #memoryGb = 0;

  /** The agent itself has said how it ends. */
  get isSaid(): boolean {
    return this.#verdict !== undefined;
  }

  /** Its program has ended. */
  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  /** What it shows once nothing of it runs. */
  get state(): WorkerState {
    return this.#verdict?.state ?? WorkerState.UNHEALTHY;
  }

  /** Why it ended, for people. */
  get reason(): string {
    return this.#reason;
  }

  get exitCode(): number | undefined {
    return this.#exit?.code;
  }

  /** Its program ended because memory ran out. */
  get ranOutOfMemory(): boolean {
    return this.#exit?.outOfMemory ?? false;
  }

  /** What its end will mean. The first word counts. */
  say(verdict: EndStatus): void {
    this.#verdict ??= verdict;
  }

  /** Throws PrepareError when there is a reason why it cannot be started. */
  refuse(reason: string | undefined): void {
    if (reason === undefined) return;
    this.say({ state: WorkerState.UNHEALTHY, reason });
    throw new PrepareError('REFUSED', reason);
  }

  /**
   * Its program ended. `asked`: it had asked for work, or was ready if it is a server. `memoryGb`: most that it may
   * have; 0: what its machine has.
   */
  exited(
    exit: UnitExit,
    { asked, isServer, log, memoryGb }: { asked: boolean; isServer: boolean; log: LogRing; memoryGb: number },
  ): void {
    this.#exit = exit;
    this.#memoryGb = memoryGb;
    const tail = log.tail(REASON_LOG_BYTES);
    const verdict = this.#verdict;
    if (!verdict)
      this.#reason = endReason(
        exit,
        asked ? '' : isServer ? 'before it was ready' : 'before it asked for work',
        tail,
        memoryGb,
      );
    else this.#reason = verdict.state === WorkerState.UNHEALTHY ? withLog(verdict.reason, tail) : verdict.reason;
  }

  /** Why attempts that it held are lost. */
  causeOfLosses(workerId: string): string {
    if (this.#verdict?.reason) return this.#verdict.reason;
    if (!this.#exit) return `The worker ${workerId} was not wanted any more while it held the job.`;
    return `The worker ${workerId} ${describeExit(this.#exit)} while it held the job${exitAdvice(this.#exit, this.#memoryGb)}.`;
  }
}
