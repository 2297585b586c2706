/** Drives one workload, a worker or a pod: observes it, asks the rule (step.ts) for the next actions, and runs them. */
import { WORKER_LOG_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { RunningWorkload, WorkloadExit } from '../executors/executor.ts';
import type { GpuUse } from '../launch/gpu-handover.ts';
import { TimedLog } from '../launch/timed-log.ts';
import { ObservedState } from './observed-state.ts';
import { exitOfFailure, isFinal, prepareWorkload } from './prepare-workload.ts';
import { Progress } from './progress.ts';
import { Standby } from './standby.ts';
import type { Action, Desired, EndCause, Observed, Phase } from './step.ts';
import { ACTIONS_MAX, step } from './step.ts';
import { endLine, leaveLine, phaseLine } from './system-lines.ts';
import type { WorkloadKind, WorkloadParts } from './workload-kind.ts';

export class Workload {
  readonly id: string;
  readonly log: TimedLog;
  /** Resolves when the workload is gone, or cleaned up because the agent stops. */
  readonly done: Promise<void>;
  readonly #parts: WorkloadParts;
  readonly #kind: WorkloadKind;
  #desired: Desired;
  readonly #is: ObservedState;
  #running: RunningWorkload | undefined;
  #preparation = new AbortController();
  /** GPU use, from the beginning of a preparation until the workload has ended. */
  #use: GpuUse | undefined;
  readonly #progress: Progress;
  readonly #standby: Standby;
  #evaluating = false;
  readonly #end: () => void;

  /** Nothing happens before the first `evaluate`. `previous`: a previous agent should have left it running. */
  constructor(
    id: string,
    desired: Desired,
    kind: WorkloadKind,
    parts: WorkloadParts,
    previous?: Pick<Observed, 'asked' | 'made'>,
  ) {
    this.id = id;
    this.#desired = desired;
    this.#kind = kind;
    this.#parts = parts;
    this.log = new TimedLog(WORKER_LOG_BYTES_MAX, parts.clock);
    this.#progress = new Progress(parts.clock, (line) => {
      this.log.note(line, { hidden: false });
      kind.changed();
    });
    ({ promise: this.done, resolve: this.#end } = Promise.withResolvers<void>());
    this.#is = new ObservedState(parts.clock, parts.random, kind.policy.restarts, previous);
    this.#standby = new Standby({
      kind,
      is: this.#is,
      running: () => this.#running,
      freeGpus: () => parts.handover.free(kind.gpuUuids),
      enter: (phase) => this.#enter(phase),
      kill: (reason) => {
        if (reason !== undefined) kind.standbyFailed?.(reason);
        this.requestEnd('kill');
      },
      logger: parts.logger,
    });
  }

  get desired(): Desired {
    return this.#desired;
  }
  get observed(): Readonly<ObservedState> {
    return this.#is;
  }

  /** Progress of its preparation, for people. Empty if nothing is being prepared. */
  get progress(): string {
    return this.#progress.text;
  }

  /** Where its ports can be reached from this host. `undefined` if it does not run. */
  get address(): string | undefined {
    return this.#running?.address;
  }

  /** Returns what it uses, or its processes on this host. Empty if it does not run, or neither is known. */
  readonly use = async () => (await this.#running?.use?.()) ?? (await this.#running?.pids()) ?? [];

  /** It will end, or has ended. */
  get isEnding(): boolean {
    return this.#is.isEnding;
  }

  /** Sets the desired state. */
  want(desired: Desired): void {
    const { want, run, disk } = this.#desired;
    if (want === desired.want && run === desired.run && disk === desired.disk) return this.evaluate();
    this.#desired = desired;
    this.#is.forgetFailures();
    this.#kind.changed();
    this.evaluate();
    this.#endIfOver();
  }

  /** Ends the workload by decision of the agent, gracefully or at once. */
  requestEnd(how: 'stop' | 'kill'): void {
    if (this.#is.endRequested === how || this.#is.endRequested === 'kill') return;
    this.#is.endRequested = how;
    this.#kind.changed();
    this.evaluate();
  }

  /** Records that it asked for work. */
  asked(): void {
    if (!this.#is.recordAsked()) return;
    this.#parts.starts.leave(this.id);
    this.#kind.changed();
    this.evaluate();
  }

  /** Runs the actions that are due. Call it after every change, and often, because some actions depend on time. */
  evaluate(): void {
    // A listener may have changed the desired state inside this call: the loop that already runs sees the change.
    if (this.#evaluating) return;
    this.#evaluating = true;
    try {
      for (let count = 0; count < ACTIONS_MAX; count += 1) {
        const actions = step(
          this.#desired,
          { ...this.#is, busy: this.#kind.isBusy() },
          this.#kind.policy,
          this.#parts.clock.monotonicMs(),
        );
        if (actions.length === 0) return;
        for (const action of actions) this.#do(action);
      }
      this.#parts.logger.error(
        { ...this.#kind.ids, phase: this.#is.phase, want: this.#desired.want },
        'the actions of a workload do not end',
      );
    } finally {
      this.#evaluating = false;
    }
  }

  #do(action: Action): void {
    switch (action.do) {
      case 'adopt':
        return void this.#adopt();
      case 'prepare':
        return void this.#prepare();
      case 'abandon':
        return this.#abandon(action.why);
      case 'stop':
        return this.#stop(action.why);
      case 'kill':
        return this.#kill(action.why);
      case 'freeze':
      case 'thaw':
      case 'offload':
      case 'restore':
        return void this.#standby[action.do]().then(() => this.evaluate());
      case 'clean':
        return void this.#cleanUp(action.disk);
      case 'remove':
        return void this.#remove();
    }
  }

  async #adopt(): Promise<void> {
    this.#enter('adopting');
    const running = await this.#kind
      .executor()
      ?.adopt(this.id, (bytes) => this.#kind.output(bytes))
      .catch((error: unknown) => {
        this.#parts.logger.warn({ err: error, ...this.#kind.ids }, 'could not check whether it still runs');
        this.#kind.adoptionFailed?.(error);
        return undefined;
      });
    const isOffloaded = this.#kind.memory?.isOffloaded ?? false;
    if (running && isOffloaded) await this.#standby.refreeze(running);
    if (running) this.#runs(running, isOffloaded ? 'offloaded' : 'running');
    else this.#enter('absent');
    if (!running && isOffloaded) this.#kind.memory!.ended();
    this.evaluate();
  }

  async #prepare(): Promise<void> {
    const { signal } = (this.#preparation = new AbortController());
    this.#use = this.#parts.handover.use(this.#kind.gpuUuids);
    this.#is.beginStart(this.#desired);
    this.#enter('preparing');
    let running: RunningWorkload;
    try {
      const [kind, desired, parts, progress] = [this.#kind, this.#desired, this.#parts, this.#progress];
      running = (await prepareWorkload({ kind, desired, gpus: this.#use, progress, parts, signal }))();
    } catch (error) {
      this.#exited(exitOfFailure(error, signal), isFinal(error));
      return this.evaluate();
    }
    this.#runs(running);
    this.evaluate();
  }

  #runs(running: RunningWorkload, phase: Phase = 'running'): void {
    this.#running = running;
    this.#kind.memory?.started(running);
    this.#use ??= this.#parts.handover.use(this.#kind.gpuUuids);
    this.#enter(phase);
    this.#kind.started();
    void running.ended.then((exit) => {
      this.#running = undefined;
      this.#kind.memory?.ended();
      this.#exited(exit);
      this.evaluate();
    });
  }

  /** Handles the end of its process. `isLast`: another try would end the same way. */
  #exited(exit: WorkloadExit, isLast = false): void {
    this.#use?.end();
    this.#use = undefined;
    this.#parts.starts.leave(this.id);
    const { restarts } = this.#kind.policy;
    const isStopped = restarts && this.isEnding;
    const pauseMs = restarts && !isStopped ? this.#is.pauseAfterExit(isLast) : undefined;
    if (!isStopped) this.#kind.exited(exit, pauseMs);
    this.log.note(endLine(exit, pauseMs), { hidden: true });
    this.#enter(isStopped ? 'absent' : 'exited');
  }

  #abandon(why: EndCause): void {
    this.#is.abandoned = true;
    this.#leave('abandon', why);
    this.#preparation.abort();
  }

  #stop(why: EndCause): void {
    this.#is.stopAskedAtMs = this.#parts.clock.monotonicMs();
    this.#leave('stop', why);
    this.#running?.stop();
    this.#kind.stopping();
  }

  #kill(why: EndCause): void {
    this.#is.killed = true;
    this.#leave('kill', why);
    this.#running?.kill();
  }

  /**
   * Begins its end. From now on the next user of its GPUs, who may be in the same message from core, waits until this
   * workload has ended.
   */
  #leave(how: 'abandon' | 'stop' | 'kill', why: EndCause): void {
    this.log.note(leaveLine(how, why), { hidden: true });
    this.#use?.leave();
    this.#kind.ending(why);
    this.#kind.changed();
  }

  async #cleanUp(disk: number | undefined): Promise<void> {
    this.#enter('cleaning');
    await this.#kind.cleanUpFiles(disk);
    this.#is.cleanedDisk = disk;
    this.#enter('cleaned');
    this.evaluate();
  }

  async #remove(): Promise<void> {
    this.#kind.ending('unwanted');
    this.#enter('removing');
    try {
      await this.#kind.remove();
      const { want } = this.#desired;
      this.#enter(this.#kind.policy.restarts && (want === 'running' || want === 'stopped') ? 'absent' : 'removed');
    } catch (error) {
      this.#parts.logger.warn({ err: error, ...this.#kind.ids }, 'its files were not removed, will try again');
      this.#is.retryLater();
      this.#enter(this.#kind.policy.restarts ? 'absent' : 'exited');
    }
    this.evaluate();
  }

  #enter(phase: Phase): void {
    const from = this.#is.phase;
    try {
      this.#is.enter(phase);
    } catch (error) {
      return this.#parts.logger.error({ err: error, ...this.#kind.ids }, 'invalid change of phase rejected');
    }
    if (phase !== 'preparing') this.#progress.clear();
    this.log.note(phaseLine(from, phase), { hidden: true });
    this.#parts.logger.debug({ ...this.#kind.ids, from, to: phase }, 'workload changed phase');
    this.#kind.changed();
    this.#endIfOver();
  }

  #endIfOver(): void {
    const { phase } = this.#is;
    if (phase === 'removed' || (phase === 'cleaned' && this.#desired.want === 'shutdown')) this.#end();
  }
}
