/** One worker: the state that core sees of it, its start and its end. A restart is a new worker. */
import type { DesiredWorker, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Executor, WorkloadExit } from '../../executors/executor.ts';
import type { Ready } from '../../launch/launcher.ts';
import { initTimeoutSeconds } from '../../launch/launcher.ts';
import type { TimedLog } from '../../launch/timed-log.ts';
import { HttpServing } from '../http/http-serving.ts';
import type { Desired, EndCause, Policy } from '../step.ts';
import { isLive, isUnchecked } from '../step.ts';
import { Workload } from '../workload.ts';
import type { WorkloadKind } from '../workload-kind.ts';
import type { PreviousWorker } from './previous-worker.ts';
import { removeWorker } from './remove-worker.ts';
import { ResultLines } from './result-lines.ts';
import { ReportedSdk } from './sdk-traits.ts';
import { ENDED_AWAY, notFoundOut, WorkerEnd } from './worker-end.ts';
import type { WorkerMemory } from './worker-memory.ts';
import { INTERRUPTED, memoryOf } from './worker-memory.ts';
import type { WorkerParts } from './worker-parts.ts';
import { isOver, workerStateOf } from './worker-state.ts';
import type { EndStatus } from './worker-want.ts';
import { isWanted, wantOf } from './worker-want.ts';

export class Worker implements WorkloadKind {
  readonly id: string;
  readonly endpointId: string;
  readonly ids: { workerId: string; endpointId: string };
  readonly spec: WorkerSpec;
  /** Token that authenticates the worker's requests to the bridge. */
  readonly token: string;
  /** `undefined` if the worker asks for work. */
  readonly http: HttpServing | undefined;
  readonly policy: Policy;
  readonly sdk = new ReportedSdk();
  /** `undefined` if it has no GPU. */
  readonly memory: WorkerMemory | undefined;
  /** Returns what it uses, or its processes on this host. Empty if it does not run, or neither is known. */
  readonly use = (): ReturnType<Workload['use']> => this.#workload.use();
  readonly #workload: Workload;
  readonly #parts: WorkerParts<Worker>;
  #state: WorkerState = WorkerState.INITIALIZING;
  #refresh = false;
  readonly #end: WorkerEnd;
  readonly #resultLines = new ResultLines();
  #shownProgress = '';
  #isRejected = false;
  readonly #adoptionChecked = Promise.withResolvers<void>();

  /** Nothing happens before `begin`. `previous`: it runs from a previous agent. */
  constructor(request: DesiredWorker, token: string, parts: WorkerParts<Worker>, previous?: PreviousWorker) {
    this.id = request.workerId;
    this.endpointId = request.endpointId;
    this.ids = { workerId: this.id, endpointId: this.endpointId };
    this.spec = request.spec!;
    this.token = token;
    this.#parts = parts;
    this.#end = new WorkerEnd(this.spec, previous && ENDED_AWAY);
    this.http = this.spec.httpServer && new HttpServing(this.spec.httpServer, parts.httpDrainMs);
    // A worker that serves HTTP has no limit here: its health checks decide how long its start may take.
    const initTimeoutMs = this.http ? Infinity : initTimeoutSeconds(this.spec) * 1_000;
    this.policy = { restarts: false, graceMs: parts.graceMs, initTimeoutMs };
    this.memory = memoryOf(this, parts, this.#end, previous?.memory);
    this.#workload = new Workload(
      this.id,
      { want: wantOf(request), run: 0, disk: 0 },
      this,
      parts,
      previous && { asked: previous.asked, made: undefined },
    );
    this.#refresh = previous?.refresh ?? false;
    if (previous) this.#state = previous.frozen ? WorkerState.FROZEN : this.#stateNow();
    this.sdk.setVersion(previous?.sdk ?? '');
  }

  get state(): WorkerState {
    return this.#state;
  }
  /** How the worker ended, or will end. */
  get end(): Pick<WorkerEnd, 'exitCode' | 'ranOutOfMemory'> {
    return this.#end;
  }
  get log(): TimedLog {
    return this.#workload.log;
  }
  /** It wants to be replaced before its next job. */
  get refresh(): boolean {
    return this.#refresh;
  }
  get asked(): boolean {
    return this.#workload.observed.asked;
  }
  /** Why it ended, the progress of its preparation, or why its server is not ready. */
  get reason(): string {
    return this.hasEnded ? this.#end.reason : this.#workload.progress || (this.http?.notReady ?? '');
  }
  /** Where its ports can be reached from this host. `undefined` if it does not run. */
  get address(): string | undefined {
    return this.#workload.address;
  }

  /** Its container continues when the agent ends. */
  get outlives(): boolean {
    return this.spec.imageName !== '';
  }

  /** It runs, or a previous agent left it and it is not known yet whether it runs. Nothing has asked it to end. */
  get isRunning(): boolean {
    const { phase } = this.#workload.observed;
    const isLeft = isUnchecked(phase) && this.#end.notAgain !== undefined && !this.#isRejected;
    return (isLive(phase) || isLeft) && !this.isStopping;
  }

  /** Resolves once it is known whether an adopted worker still runs. */
  get adoptionChecked(): Promise<void> {
    return this.#adoptionChecked.promise;
  }

  /** The worker no longer runs. */
  get hasEnded(): boolean {
    return isOver(this.#state);
  }

  /** It gets no more work, or none while it is on standby. */
  get isLeaving(): boolean {
    return this.#state !== WorkerState.INITIALIZING && this.#state !== WorkerState.READY;
  }

  /** Since when it is on standby, by the monotonic clock. `undefined` if it is not. */
  get frozenSinceMs(): number | undefined {
    const { phase, sinceMs } = this.#workload.observed;
    return phase === 'frozen' || phase === 'offloaded' ? sinceMs : undefined;
  }

  /** It was asked to stop. */
  get isStopping(): boolean {
    return this.#workload.isEnding;
  }

  get done(): Promise<void> {
    return this.#workload.done;
  }

  /** Starts to drive the worker. */
  begin(): void {
    this.changed();
    this.#parts.listener.changed(this);
    if (this.memory?.failure) this.requestEnd('kill', INTERRUPTED);
    this.#workload.evaluate();
  }

  /**
   * Sets the state that core desires. `undefined` if the worker must end without waiting for its jobs. A worker
   * that is to be replaced drains, whatever core desires. `connectedAtMs`: since when core is connected, by the
   * monotonic clock.
   */
  want(request: DesiredWorker | undefined, connectedAtMs = -Infinity): void {
    const { desired, idle = false } = request ?? {};
    this.http?.want(desired === DesiredState.DRAIN, idle, this.#parts.clock.monotonicMs(), connectedAtMs);
    const want = request === undefined ? 'absent' : wantOf(request);
    this.#workload.want({ want: this.#refresh && want !== 'absent' ? 'draining' : want, run: 0, disk: 0 });
  }

  /** Ends the worker because the agent stops. */
  shutDown(verdict: EndStatus): void {
    if (!this.isStopping) this.#end.decide(verdict);
    this.#workload.want({ want: 'shutdown', run: 0, disk: 0 });
  }

  /** Marks an adopted worker that cannot continue, for this reason; it no longer runs. Called instead of `begin`. */
  rejectAdoption(reason: string): void {
    this.#end.notAgain = reason;
    this.#isRejected = true;
    this.#end.decide({ state: WorkerState.STOPPED, reason });
    this.begin();
  }

  /** Ends the worker by decision of the agent, gracefully or at once. The first verdict counts. */
  requestEnd(how: 'stop' | 'kill', verdict: EndStatus): void {
    if (this.hasEnded || (how === 'stop' && this.isStopping)) return;
    this.#end.decide(verdict);
    this.#workload.requestEnd(how);
  }

  /** Records that it asked for work, or is ready if it serves HTTP. */
  ready(): void {
    this.#workload.asked();
  }

  /** Notifies listeners of something to report or record that is no change of state. */
  notifyChanged(): void {
    this.#parts.listener.changed(this);
  }

  /** Records that the worker asked to be replaced before its next job. It drains. */
  recycle(): void {
    if (this.#refresh) return;
    this.#refresh = true;
    this.#parts.listener.changed(this);
    const { want } = this.#workload.desired;
    if (isWanted(want)) this.#workload.want({ want: 'draining', run: 0, disk: 0 });
  }

  /** Runs the due actions. */
  evaluate(): void {
    this.#workload.evaluate();
  }

  /** Checks again after an attempt of it has ended: its end or standby may have waited for that. */
  evaluateAfterAttempt(): void {
    if (this.#workload.desired.want !== 'running') this.#workload.evaluate();
  }

  // Implementation of WorkloadKind.
  get gpuUuids(): readonly string[] {
    return this.spec.gpuUuids;
  }
  isBusy(): boolean {
    return this.http?.hasClients(this.#parts.clock.monotonicMs()) ?? this.#parts.isBusy(this.id);
  }
  executor(): Executor | undefined {
    if (this.#isRejected) return undefined;
    return this.#parts.launcher.executorOf(this.spec);
  }

  async launch(_desired: Desired, progress: (line: string) => void, signal: AbortSignal): Promise<Ready> {
    this.#end.rejectStart();
    const { ids, token, spec, http } = this;
    if (spec.imageName === '') await http?.takePorts(this.#parts.ports);
    const report = { onOutput: (bytes: Buffer): void => this.output(bytes), progress, signal };
    return this.#parts.launcher.worker({ ...ids, ...report, token, spec, httpVariables: http?.variables() });
  }

  started(): void {
    const done = this.#end.notAgain === undefined ? 'started' : 'adopted';
    this.#parts.logger.info({ ...this.ids, version: this.spec.version }, `worker ${done}`);
    if (this.outlives) this.#parts.listener.changed(this);
  }
  changed(): void {
    const { listener, logger } = this.#parts;
    const { phase } = this.#workload.observed;
    if (phase !== 'unknown' && phase !== 'adopting' && phase !== 'absent') this.#adoptionChecked.resolve();
    const from = this.#state;
    const to = this.#stateNow();
    if (from === to) return this.#showProgress();
    this.#state = to;
    const names = { from: enumName(WorkerState, from), to: enumName(WorkerState, to) };
    logger.debug({ ...this.ids, ...names }, 'worker changed state');
    // The causes of its attempts come before its own end: core reads them in this order.
    if (this.hasEnded) listener.ended(this, this.#end.causeOfLosses(this.id));
    listener.changed(this);
    if (to === WorkerState.DRAINING || to === WorkerState.FROZEN) listener.leaving(this);
  }

  output(bytes: Buffer): void {
    this.log.write(bytes);
    if (this.http) return;
    for (const line of this.#resultLines.push(bytes)) this.#parts.listener.resultLine(this, line);
  }

  ending(why: EndCause): void {
    const { observed, desired } = this.#workload;
    this.#end.ending(why, { isAbsent: observed.phase === 'absent', isWanted: isWanted(desired.want) });
  }
  adoptionFailed(error: unknown): void {
    this.#end.notAgain = notFoundOut(error);
  }
  standbyFailed(reason: string): void {
    this.#end.decide({ state: WorkerState.STOPPED, reason });
  }
  stopping(): void {
    this.#parts.listener.stopping(this);
  }
  exited(exit: WorkloadExit): void {
    if (this.#refresh && exit.code === 0) this.#end.decide({ state: WorkerState.STOPPED, reason: '' });
    this.#end.exited(exit, this.asked, this.log);
    const state = enumName(WorkerState, this.#end.state);
    this.#parts.logger.info({ ...this.ids, exit, state }, 'worker ended');
  }

  async cleanUpFiles(): Promise<void> {}
  async remove(): Promise<void> {
    this.http?.givePorts(this.#parts.ports);
    await removeWorker(this, this.#parts);
  }

  #stateNow(): WorkerState {
    const { observed, desired } = this.#workload;
    return workerStateOf(observed, desired.want, this.#refresh, this.#end.state);
  }

  #showProgress(): void {
    const { progress } = this.#workload;
    if (progress === this.#shownProgress) return;
    this.#shownProgress = progress;
    this.#parts.listener.changed(this);
  }
}
