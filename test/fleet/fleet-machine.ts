/**
 * A machine of the simulated fleet. It speaks the session protocol over a real socket like an agent. Its workers take
 * time to start, run jobs, crash, and survive a short network loss. A message that must never arrive is a fault.
 */

import type {
  Assignment,
  AttemptOutcome,
  AttemptRef,
  DesiredWorker,
  SessionResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { DesiredState, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { FleetImages } from './fleet-images.ts';
import { FleetLink } from './fleet-link.ts';
import { FleetStarts } from './fleet-starts.ts';
import type { FleetMachineOptions, FleetReport, FleetWorker } from './fleet-worker.ts';
import { conflictsOf, ENGINE, idleCrashMs, isLeaving, machineOf, nameOf, reportOf } from './fleet-worker.ts';
import { draw } from './lengths.ts';

export class FleetMachine {
  readonly #options: FleetMachineOptions;
  readonly #workers = new Map<string, FleetWorker>();
  /**
   * Reports about ended workers, until core no longer lists them: a list in flight that still names one must not start
   * it again.
   */
  readonly #gone = new Map<string, FleetReport>();
  readonly #images: FleetImages;
  readonly #starts: FleetStarts;
  /** Outcomes that core has not acknowledged. */
  readonly #outcomes = new Map<string, AttemptOutcome>();
  readonly #link: FleetLink;
  /** Counts of events; finished: workers that were drained while busy and ended with nothing left undone. */
  readonly counts = { started: 0, pulled: 0, frozen: 0, woken: 0, finished: 0 };

  constructor(options: FleetMachineOptions) {
    this.#options = options;
    const link = new FleetLink({
      options,
      hello: () => this.#hello(),
      receive: (message) => this.#receive(message),
      onExpired: () => this.#loseAll(),
    });
    const pull = (done: () => void): void => {
      this.counts.pulled += 1;
      link.after(draw(options.lengths.pullMs, options.random) * options.slowness, done);
    };
    this.#link = link;
    this.#images = new FleetImages(pull, () =>
      link.send({ containers: { engine: ENGINE, noEngineReason: '', images: this.#images.list } }),
    );
    this.#starts = new FleetStarts({ options, images: this.#images, after: (ms, what) => link.after(ms, what) });
  }

  get id(): string {
    return this.#options.id;
  }

  /** It takes longer than others for everything. */
  get slow(): boolean {
    return this.#options.slowness > 1;
  }

  /** Running workers by id. */
  get workers(): ReadonlyMap<string, Readonly<FleetWorker>> {
    return this.#workers;
  }

  get gpus(): FleetMachineOptions['gpus'] {
    return this.#options.gpus;
  }

  get connected(): boolean {
    return this.#link.connected;
  }

  /** Number of attempted sessions. */
  get sessions(): number {
    return this.#link.sessions;
  }

  /** Opens a session, and a new one whenever it ends. */
  connect(): void {
    this.#link.connect();
  }

  /** Cuts the network for a while. */
  partition(ms: number): void {
    this.#link.cut(ms);
  }

  /** Stops the agent in order: its work is given back. It restarts after a while. */
  leave(ms: number): void {
    for (const worker of this.#workers.values())
      this.#kill(worker, WorkerState.STOPPED, 'the agent ends', OutcomeKind.RETURNED);
    this.#link.after(500, () => this.partition(ms));
  }

  /** Cuts the power. The machine comes back empty after a while. */
  crash(ms: number): void {
    this.#loseAll();
    this.partition(ms);
  }

  stop(): void {
    this.#link.stop();
  }

  #hello() {
    const attempts = [...this.#workers.values()].flatMap(({ held }) => [...held.values()]);
    return {
      machine: machineOf(this.#options),
      instance: this.id,
      workers: [...this.#workers.values().map(reportOf), ...this.#gone.values()],
      images: this.#images.list,
      attempts: [...attempts, ...[...this.#outcomes.values()].map(({ ref }) => ref!)],
    };
  }

  /** Drops everything without a report: core notices by the next hello, or when the lease expires. */
  #loseAll(): void {
    for (const worker of this.#workers.values()) worker.over.resolve();
    for (const all of [this.#workers, this.#gone, this.#outcomes]) all.clear();
  }

  #receive(message: SessionResponse): void {
    if (message.welcome && this.#outcomes.size > 0) this.#link.send({ outcomes: [...this.#outcomes.values()] });
    for (const ref of message.outcomeAcks) this.#acknowledged(ref);
    if (message.desired) this.#reconcile(message.desired.workers);
    for (const assignment of message.assignments) this.#take(assignment);
    for (const { ref } of message.stops) {
      const worker = this.#workers.get(ref!.workerId);
      worker?.held.delete(nameOf(ref!));
      this.#report(ref!, { kind: OutcomeKind.STOPPED, error: '' });
      if (worker?.state === WorkerState.DRAINING) this.#drain(worker);
    }
  }

  #reconcile(desired: readonly DesiredWorker[]): void {
    const wanted = new Map(desired.map((worker) => [worker.workerId, worker]));
    for (const worker of this.#workers.values()) {
      const now = wanted.get(worker.id)?.desired;
      if (now === undefined) this.#kill(worker, WorkerState.STOPPED, '', OutcomeKind.STOPPED);
      else if (now === DesiredState.DRAIN) this.#drain(worker);
      else if (now === DesiredState.FREEZE) this.#freeze(worker);
      else if (worker.state === WorkerState.FROZEN) {
        this.counts.woken += 1;
        this.#becomeReady(worker);
      }
    }
    for (const id of this.#gone.keys()) if (!wanted.has(id)) this.#gone.delete(id);
    for (const worker of desired.filter(({ workerId }) => !this.#workers.has(workerId) && !this.#gone.has(workerId))) {
      if (worker.desired === DesiredState.RUN) this.#start(worker);
      // It was ended before this machine knew of it. Without a report it would count for ever.
      else
        this.#link.send({
          workers: [
            {
              workerId: worker.workerId,
              endpointId: worker.endpointId,
              state: WorkerState.STOPPED,
              capacity: 0,
              reason: '',
            },
          ],
        });
    }
  }

  #freeze(worker: FleetWorker): void {
    if (worker.state !== WorkerState.READY || worker.held.size > 0 || worker.end) return;
    this.counts.frozen += 1;
    worker.state = WorkerState.FROZEN;
    this.#link.send({ workers: [reportOf(worker)] });
  }

  #becomeReady(worker: FleetWorker): void {
    if (this.#workers.get(worker.id) !== worker || worker.end || worker.state === WorkerState.DRAINING) return;
    worker.state = WorkerState.READY;
    this.#link.send({ workers: [reportOf(worker)] });
  }

  #start({ workerId: id, endpointId, spec }: DesiredWorker): void {
    const worker: FleetWorker = {
      id,
      endpointId,
      gpuUuids: spec!.gpuUuids,
      concurrency: spec!.concurrency,
      state: WorkerState.INITIALIZING,
      held: new Map(),
      end: undefined,
      over: Promise.withResolvers(),
    };
    const others = conflictsOf(worker, this.#workers.values());
    for (const { id: other } of others.filter((one) => !isLeaving(one)))
      this.#options.onFault(`${id} is given a GPU of ${this.#options.id} that ${other} has`);
    this.#workers.set(id, worker);
    this.counts.started += 1;
    this.#link.send({ workers: [reportOf(worker)] });
    // Like an agent: a worker waits until the previous user of its GPU has ended.
    this.#starts.begin(worker, { ...spec!, free: Promise.all(others.map(({ over }) => over.promise)) }, (crash) => {
      if (crash === undefined) this.#becomeReady(worker);
      else if (this.#workers.get(id) === worker) this.#kill(worker, WorkerState.UNHEALTHY, crash, OutcomeKind.LOST);
    });
  }

  #take(assignment: Assignment): void {
    const { lengths, held, random, slowness, crashShare } = this.#options;
    const ref = assignment.ref!;
    const worker = this.#workers.get(ref.workerId);
    if (!worker || worker.state !== WorkerState.READY || worker.end)
      return this.#report(ref, { kind: OutcomeKind.RETURNED, error: '' });
    worker.held.set(nameOf(ref), ref);
    if (worker.held.size > worker.concurrency)
      this.#options.onFault(`${worker.id} was given ${worker.held.size} jobs and holds ${worker.concurrency}`);
    const { ms, hold } = JSON.parse(assignment.input?.toString() ?? '{}') as { ms?: number; hold?: boolean };
    const crashes = !hold && random.fraction() < crashShare;
    const end = (): void => {
      if (this.#workers.get(worker.id) !== worker || !worker.held.has(nameOf(ref))) return;
      if (crashes) return this.#kill(worker, WorkerState.UNHEALTHY, 'exit code 9: killed', OutcomeKind.LOST);
      worker.held.delete(nameOf(ref));
      this.#report(ref, { kind: OutcomeKind.COMPLETED, error: '', output: Buffer.from('{"ok":true}') });
      if (random.fraction() < crashShare)
        this.#link.after(idleCrashMs(random), () => {
          const idle =
            this.#workers.get(worker.id) === worker && worker.state === WorkerState.READY && worker.held.size === 0;
          if (idle) this.#kill(worker, WorkerState.UNHEALTHY, 'exit code 9: killed', OutcomeKind.LOST);
        });
      if (worker.state !== WorkerState.DRAINING) return;
      if (worker.held.size === 0) this.counts.finished += 1;
      this.#drain(worker);
    };
    if (hold) void held().then(end);
    else this.#link.after((ms ?? draw(lengths.runMs, random)) * slowness, end);
  }

  #drain(worker: FleetWorker): void {
    if (worker.end) return;
    if (worker.state !== WorkerState.DRAINING) {
      worker.state = WorkerState.DRAINING;
      this.#link.send({ workers: [reportOf(worker)] });
    }
    if (worker.held.size === 0) this.#kill(worker, WorkerState.STOPPED, '', OutcomeKind.STOPPED);
  }

  #kill(worker: FleetWorker, state: WorkerState, reason: string, kind: OutcomeKind): void {
    if (worker.end) return;
    worker.end = { state, reason };
    worker.over.resolve();
    const held = [...worker.held.values()];
    worker.held.clear();
    for (const ref of held) this.#report(ref, { kind, error: reason });
    this.#settle(worker);
  }

  #report(ref: AttemptRef, outcome: Omit<AttemptOutcome, 'ref'>): void {
    this.#outcomes.set(nameOf(ref), { ...outcome, ref });
    if (this.connected) this.#link.send({ outcomes: [{ ...outcome, ref }] });
  }

  #acknowledged(ref: AttemptRef): void {
    this.#outcomes.delete(nameOf(ref));
    const worker = this.#workers.get(ref.workerId);
    if (worker) this.#settle(worker);
  }

  /** Reports a worker's end last, after core has all of its outcomes. */
  #settle(worker: FleetWorker): void {
    if (!worker.end || [...this.#outcomes.values()].some(({ ref }) => ref!.workerId === worker.id)) return;
    const report = { ...reportOf(worker), ...worker.end, exitCode: worker.end.state === WorkerState.UNHEALTHY ? 3 : 0 };
    this.#gone.set(worker.id, report);
    this.#workers.delete(worker.id);
    this.#link.send({ workers: [report] });
  }
}
