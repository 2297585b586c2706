/** How one worker ended, or will: what its agent said of that first, and how its program ended. */
import { WorkerState } from '../../../proto/gen/slipway/v1/machine.ts';
import { PrepareError } from '../../executors/executor.ts';
import type { UnitExit } from '../../executors/executor.ts';
import { REASON_LOG_BYTES, describeExit, endReason, withLog } from '../../launch/end-reason.ts';
import type { LogRing } from '../../launch/log-ring.ts';
import type { EndStatus } from './worker-want.ts';

export class WorkerEnd {
  #verdict: EndStatus | undefined;
  #exit: UnitExit | undefined;
  #reason = '';

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

  /** Its program ended. `asked`: it had asked for work, or was ready if it is a server. */
  exited(exit: UnitExit, { asked, isServer, log }: { asked: boolean; isServer: boolean; log: LogRing }): void {
    this.#exit = exit;
    const tail = log.tail(REASON_LOG_BYTES);
    const verdict = this.#verdict;
    if (!verdict) this.#reason = endReason(exit, asked ? '' : isServer ? 'before it was ready' : 'before it asked for work', tail);
    else this.#reason = verdict.state === WorkerState.UNHEALTHY ? withLog(verdict.reason, tail) : verdict.reason;
  }

  /** Why attempts that it held are lost. */
  causeOfLosses(workerId: string): string {
    if (this.#verdict?.reason) return this.#verdict.reason;
    return `The worker ${workerId} ${this.#exit ? describeExit(this.#exit) : 'was not wanted any more'} while it held the job.`;
  }
}
