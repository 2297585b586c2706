/**
 * A simulated machine. Its agent speaks the session protocol, keeps outcomes on disk until core has them, gives up its
 * attempts when its lease ends, and is killed. Its handlers run as their input says. Sometimes it lies.
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
import type { Ended } from '../checker/history.ts';
import type { Being } from '../world/being.ts';
import { NATURE } from '../world/being.ts';
import { Deliveries } from './deliveries.ts';
import { Liar } from './liar.ts';
import type { SimReplica } from './replica.ts';
import { SimLease, SimLink } from './sim-link.ts';
import type { Execution, Machine, SimInput, SimMachineOptions, SimWorker } from './sim-worker.ts';
import { countIdle, machineFacts, nameOf, newWorker, reportOf } from './sim-worker.ts';

const START_MS = { least: 50, most: 600 };
const RECONNECT_MS = { least: 50, most: 1_000 };
const RESTART_MS = { least: 200, most: 3_000 };

export class SimMachine implements Machine {
  readonly id: string;
  readonly #options: SimMachineOptions;
  /** The process of its agent. */
  #life: Being = { name: '', dead: true };
  #lives = 0;
  #lease!: SimLease;
  #link: SimLink | undefined;
  #welcome = false;
  readonly #workers = new Map<string, SimWorker>();
  /** Outcomes on its disk. */
  readonly #spool = new Map<string, AttemptOutcome>();
  /** Pieces of ended attempts whose outcome is in the spool. */
  readonly #pieces = new Map<string, Execution>();
  readonly #liar: Liar;
  readonly #deliveries: Deliveries;

  constructor(options: SimMachineOptions) {
    this.id = options.id;
    this.#options = options;
    this.#deliveries = new Deliveries(options);
    this.#liar = new Liar(options.world, this.id, { life: () => this.#life, link: () => this.#link });
    this.#begin();
  }

  /** Its workers. */
  get workers(): SimWorker[] {
    return [...this.#workers.values()];
  }

  idleWorkers(endpointId: string): number {
    return this.#welcome ? countIdle(this.workers, endpointId) : 0;
  }

  get running(): AttemptRef[] {
    return this.workers.flatMap(({ held }) => [...held.values()].map(({ ref }) => ref));
  }

  get owesOutcomes(): boolean {
    return this.#spool.size > 0;
  }

  lie(others: readonly AttemptRef[]): void {
    this.#liar.lie(others);
  }

  cut(): boolean {
    const link = this.#link;
    link?.cut();
    return link !== undefined;
  }

  silence(): boolean {
    return this.#link !== undefined && (this.#link.isSilent = true);
  }

  /** Breaks its session with a replica that has died. */
  left(replica: SimReplica): void {
    const { world } = this.#options;
    const link = this.#link;
    if (link?.replica === replica && !link.isSilent) world.after(world.between(0, 5), NATURE, () => link.cut());
  }

  get isUp(): boolean {
    return !this.#life.dead;
  }

  die(losesDisk: boolean): void {
    const { world } = this.#options;
    this.#killAll();
    this.#life.dead = true;
    if (losesDisk) for (const kept of [this.#spool, this.#pieces]) kept.clear();
    const link = this.#link;
    this.#link = undefined;
    link?.cut();
    world.after(world.between(RESTART_MS.least, RESTART_MS.most), { name: this.id, dead: false }, () => this.#begin());
  }

  #begin(): void {
    this.#lives += 1;
    this.#life = { name: `${this.id}.${this.#lives}`, dead: false };
    this.#lease = new SimLease(this.#options.world, this.#life, () => this.#expire());
    this.#reconnect();
  }

  #expire(): void {
    this.#options.world.note(this.#life.name, 'lease over');
    this.#killAll();
    this.#link?.cut();
  }

  #reconnect(): void {
    const { world } = this.#options;
    world.after(world.between(RECONNECT_MS.least, RECONNECT_MS.most), this.#life, () => this.#connect());
  }

  #connect(): void {
    const { world, replicas } = this.#options;
    const living = replicas();
    if (living.length === 0 || this.#link?.isOpen) return this.#reconnect();
    const link = new SimLink({
      world,
      life: this.#life,
      replica: world.one(living),
      receive: (message) => {
        if (this.#link === link) this.#receive(message, link);
      },
      onEnd: () => {
        if (this.#link !== link) return;
        this.#link = undefined;
        this.#welcome = false;
        this.#reconnect();
      },
    });
    this.#link = link;
    this.#welcome = false;
    this.#lease.begin();
    link.send({ hello: this.#hello() });
    // An agent whose hello is not answered tries another replica.
    world.after(10_000, this.#life, () => {
      if (this.#link === link && !this.#welcome) link.cut();
    });
  }

  #hello() {
    return {
      machine: machineFacts(this.id),
      instance: this.#life.name.replace('.', '-'),
      replaces: this.#lives > 1 ? `${this.id}-${this.#lives - 1}` : '',
      workers: this.workers.map((worker) => reportOf(worker)),
      attempts: [...this.running, ...[...this.#spool.values()].map(({ ref }) => ref!)],
      recalls: true,
    };
  }

  #receive(message: SessionResponse, link: SimLink): void {
    this.#lease.receive(message, link);
    if (message.welcome) {
      this.#welcome = true;
      const executions = this.workers.flatMap(({ held }) => [...held.values()]);
      for (const execution of [...executions, ...this.#pieces.values()]) this.#sendChunks(execution);
      if (this.#spool.size > 0) link.send({ outcomes: [...this.#spool.values()] });
    }
    for (const { ref, number } of message.chunkAcks) this.#chunksAcknowledged(ref!, number);
    for (const ref of message.outcomeAcks) {
      this.#spool.delete(nameOf(ref));
      this.#pieces.delete(nameOf(ref));
      this.#liar.over.push(ref);
      this.#deliveries.acknowledged(ref, link);
    }
    if (message.desired) this.#reconcile(message.desired.workers);
    for (const assignment of message.assignments) this.#take(assignment);
    for (const { ref } of message.stops) this.#stop(ref!);
  }

  #reconcile(desired: readonly DesiredWorker[]): void {
    const wanted = new Map(desired.map((worker) => [worker.workerId, worker]));
    for (const worker of this.workers) {
      const now = wanted.get(worker.id)?.desired;
      if (now === undefined) this.#stopWorker(worker);
      else if (now === DesiredState.DRAIN) this.#drain(worker);
    }
    for (const request of desired) {
      if (this.#workers.has(request.workerId)) continue;
      const worker = newWorker(request);
      if (request.desired === DesiredState.RUN) this.#startWorker(worker);
      else this.#link?.send({ workers: [reportOf({ ...worker, state: WorkerState.STOPPED })] });
    }
  }

  #startWorker(worker: SimWorker): void {
    const { world } = this.#options;
    this.#workers.set(worker.id, worker);
    this.#link?.send({ workers: [reportOf(worker)] });
    world.after(world.between(START_MS.least, START_MS.most), this.#life, () => {
      if (this.#workers.get(worker.id) !== worker || worker.state !== WorkerState.INITIALIZING) return;
      worker.state = WorkerState.READY;
      this.#link?.send({ workers: [reportOf(worker)] });
    });
  }

  #drain(worker: SimWorker): void {
    if (worker.held.size === 0) return this.#stopWorker(worker);
    if (worker.state === WorkerState.DRAINING) return;
    worker.state = WorkerState.DRAINING;
    this.#link?.send({ workers: [reportOf(worker)] });
  }

  #stopWorker(worker: SimWorker): void {
    for (const execution of worker.held.values()) this.#end(execution, 'KILLED', { kind: OutcomeKind.LOST });
    this.#workers.delete(worker.id);
    this.#link?.send({ workers: [reportOf({ ...worker, state: WorkerState.STOPPED })] });
  }

  #take({ ref, input }: Assignment): void {
    const { world, record } = this.#options;
    const name = nameOf(ref!);
    const worker = this.#workers.get(ref!.workerId);
    if (this.#spool.has(name) || worker?.held.has(name)) return;
    if (!worker || worker.state !== WorkerState.READY)
      return this.#report({ ref: ref!, kind: OutcomeKind.RETURNED, error: '' });
    this.#liar.tellOfEarlier(ref!);
    const { client, ms, fails, chunks = 0 } = JSON.parse(input!.toString()) as SimInput;
    const token = world.random.id(8);
    const execution: Execution = { ref: ref!, token, chunks: [], streamed: 0, link: this.#link };
    worker.held.set(name, execution);
    const { jobId: job, attempt } = ref!;
    record({ is: 'started', atMs: world.nowMs, job, attempt, machine: this.id, token, client });
    world.note(this.id, 'starts', name, token);
    for (let number = 1; number <= chunks; number += 1)
      world.after((ms * number) / (chunks + 1), this.#life, () => {
        if (worker.held.get(name) !== execution) return;
        execution.streamed = number;
        execution.chunks.push({ number, output: Buffer.from(JSON.stringify({ token, number })) });
        this.#sendChunks({ ...execution, chunks: execution.chunks.slice(-1) });
      });
    world.after(ms, this.#life, () => {
      if (worker.held.get(name) !== execution) return;
      const output = Buffer.from(JSON.stringify({ token }));
      const took = { executionMs: Math.round(ms) };
      if (fails) this.#end(execution, 'FAILED', { kind: OutcomeKind.FAILED, error: `failed ${token}`, ...took });
      else this.#end(execution, 'COMPLETED', { kind: OutcomeKind.COMPLETED, output, ...took });
      if (worker.state === WorkerState.DRAINING) this.#drain(worker);
    });
  }

  #end(execution: Execution, how: Ended['how'], outcome: Partial<AttemptOutcome> & { kind: OutcomeKind }): void {
    const { world, record } = this.#options;
    const { ref, token, streamed: chunks } = execution;
    this.#workers.get(ref.workerId)?.held.delete(nameOf(ref));
    record({ is: 'ended', atMs: world.nowMs, job: ref.jobId, attempt: ref.attempt, token, how, chunks });
    if (how !== 'KILLED') this.#deliveries.expect(ref, execution.link);
    if (execution.chunks.length > 0) this.#pieces.set(nameOf(ref), execution);
    this.#report({ error: '', ...outcome, ref });
  }

  #stop(ref: AttemptRef): void {
    const execution = this.#workers.get(ref.workerId)?.held.get(nameOf(ref));
    if (execution) this.#end(execution, 'KILLED', { kind: OutcomeKind.STOPPED });
    else if (!this.#spool.has(nameOf(ref))) this.#report({ ref, kind: OutcomeKind.STOPPED, error: '' });
    const worker = this.#workers.get(ref.workerId);
    if (worker?.state === WorkerState.DRAINING) this.#drain(worker);
  }

  #report(outcome: AttemptOutcome): void {
    this.#spool.set(nameOf(outcome.ref!), outcome);
    if (this.#welcome) this.#link?.send({ outcomes: [outcome] });
  }

  #sendChunks({ ref, chunks }: Execution): void {
    if (this.#welcome && chunks.length > 0)
      this.#link?.send({ chunks: chunks.map(({ number, output }) => ({ ref, number, output })) });
  }

  #chunksAcknowledged(ref: AttemptRef, number: number): void {
    const execution = this.#workers.get(ref.workerId)?.held.get(nameOf(ref)) ?? this.#pieces.get(nameOf(ref));
    if (execution) execution.chunks = execution.chunks.filter((chunk) => chunk.number > number);
  }

  /** Ends all handlers without an outcome. */
  #killAll(): void {
    const { world, record } = this.#options;
    for (const { held } of this.#workers.values()) {
      for (const { ref, token, streamed: chunks } of held.values()) {
        const { jobId: job, attempt } = ref;
        record({ is: 'ended', atMs: world.nowMs, job, attempt, token, how: 'KILLED', chunks });
        this.#liar.over.push(ref);
      }
      held.clear();
    }
    this.#workers.clear();
  }
}
