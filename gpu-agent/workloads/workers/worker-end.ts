/** How one worker ended, or will end: the first verdict of its agent, and the exit of its program. */
import type { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { WorkloadExit } from '../../executors/executor.ts';
import { PrepareError } from '../../executors/executor.ts';
import { describeExit, endReason, exitAdvice, REASON_LOG_BYTES, withLog } from '../../launch/end-reason.ts';
import { initTimeoutSeconds } from '../../launch/launcher.ts';
import type { LogRing } from '../../launch/log-ring.ts';
import type { EndCause } from '../step.ts';
import type { EndStatus } from './worker-want.ts';

/** Reason of an adopted worker of which nothing is left. */
export const ENDED_AWAY = 'The worker ended while its agent was away.';

/** Reason of a worker that core wants on standby and that this agent does not know. */
const NOT_HERE = 'Core wanted it on standby, and nothing of it runs on this machine.';

/** Returns the reason of an adopted worker of which its executor did not say whether it still runs. */
export function notFoundOut(error: unknown): string {
  return `Its agent came back and could not find out whether it still runs: ${(error as Error).message}`;
}

export class WorkerEnd {
  /** Why it cannot be started: it already runs from a previous agent, or it ended while no agent watched. */
  notAgain: string | undefined;
  #verdict: EndStatus | undefined;
  #exit: WorkloadExit | undefined;
  #reason = '';
  readonly #spec: WorkerSpec;

  constructor(spec: WorkerSpec, notAgain?: string) {
    this.#spec = spec;
    this.notAgain = notAgain;
  }

  /** Memory limit in GB; 0 if the worker is a command, which may use all of its machine. */
  get #memoryGb(): number {
    return this.#spec.imageName === '' ? 0 : this.#spec.memoryGb;
  }

  /** The agent has recorded a verdict. */
  get isDecided(): boolean {
    return this.#verdict !== undefined;
  }

  /** Its program has ended. */
  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  /** State to report once the worker no longer runs. */
  get state(): WorkerState {
    return this.#verdict?.state ?? WorkerState.UNHEALTHY;
  }

  /** Why it ended, for people. Empty if core no longer wanted it. */
  get reason(): string {
    return this.#exit ? this.#reason : (this.#verdict?.reason ?? '');
  }

  get exitCode(): number | undefined {
    return this.#exit?.code;
  }

  /** Its program ended because memory ran out. */
  get ranOutOfMemory(): boolean {
    return this.#exit?.outOfMemory ?? false;
  }

  /** Records the verdict on its end. Only the first one counts. */
  decide(verdict: EndStatus): void {
    this.#verdict ??= verdict;
  }

  /** Throws PrepareError if there is a reason why the worker cannot be started. */
  rejectStart(): void {
    const { notAgain: reason } = this;
    if (reason === undefined) return;
    this.decide({ state: WorkerState.UNHEALTHY, reason });
    throw new PrepareError('REFUSED', reason);
  }

  /**
   * Records why the workload is about to end. `isAbsent`: nothing of it runs. A worker on standby of which nothing is
   * left is not started to find that out. `isWanted`: core wants it, running or on standby.
   */
  ending(why: EndCause, { isAbsent, isWanted }: { isAbsent: boolean; isWanted: boolean }): void {
    if (this.hasExited) return;
    const gone = this.notAgain ?? (isWanted ? NOT_HERE : '');
    if (why === 'unwanted') this.decide({ state: WorkerState.STOPPED, reason: isAbsent ? gone : '' });
    const reason = `The worker did not ask for work within ${initTimeoutSeconds(this.#spec)} s.`;
    if (why === 'late') this.decide({ state: WorkerState.UNHEALTHY, reason });
  }

  /** Records the exit of its program. `asked`: the worker had asked for work, or was ready if it serves HTTP. */
  exited(exit: WorkloadExit, asked: boolean, log: LogRing): void {
    this.#exit = exit;
    const tail = log.tail(REASON_LOG_BYTES);
    const verdict = this.#verdict;
    const early = this.#spec.httpServer ? 'before it was ready' : 'before it asked for work';
    if (!verdict)
      this.#reason = endReason(
        exit,
        asked ? '' : early,
        tail,
        this.#memoryGb,
        asked ? '' : this.#usualCause(exit.code),
      );
    else this.#reason = verdict.state === WorkerState.UNHEALTHY ? withLog(verdict.reason, tail) : verdict.reason;
  }

  /** Returns the usual cause of an exit before the worker served; empty if the code says nothing. */
  #usualCause(code: number | undefined): string {
    if (code === 0) return this.#missingStart();
    const isImage = this.#spec.imageName !== '';
    const where = isImage ? 'in the image' : 'on the machine';
    if (code === 127) return `A program was not found: check the command, and what is installed ${where}.`;
    if (code !== 126) return '';
    return isImage
      ? 'A program was found but may not be executed: check its permissions in the image.'
      : 'A program was found but may not be executed: the user that runs workers must be able to open it and all its ' +
          'folders, and cannot open /root.';
  }

  /** Returns the usual cause of a program that ran to its end and never served. */
  #missingStart(): string {
    return this.#spec.httpServer
      ? 'Its program ran to its end: does it start an HTTP server on PORT, as uvicorn.run(app, …) does?'
      : 'Its program ran to its end: does it call runpod.serverless.start({"handler": handler}), or in ' +
          'JavaScript start({ handler })?';
  }

  /** Returns why attempts that it held are lost. */
  causeOfLosses(workerId: string): string {
    if (this.#verdict?.reason) return this.#verdict.reason;
    if (!this.#exit) return `The worker ${workerId} was not wanted any more while it held the job.`;
    return (
      `The worker ${workerId} ${describeExit(this.#exit)} while it held the ` +
      `job${exitAdvice(this.#exit, this.#memoryGb)}.`
    );
  }
}
