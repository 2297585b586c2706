/**
 * A worker's process: takes jobs from the bridge of its agent, runs their handlers as their inputs say, and posts
 * values and results, as an SDK does. It calls the functions behind the bridge's routes. A process in a container
 * outlives its agent, and then calls the next one.
 */
import type { BridgeParts } from '@slipway/gpu-agent/bridge/bridge-parts';
import { postResult } from '@slipway/gpu-agent/bridge/done-route';
import { holdTake, LEAVING_PAUSE_MS } from '@slipway/gpu-agent/bridge/take-route';
import { workerOf } from '@slipway/gpu-agent/bridge/worker-call';
import type { WorkloadExit } from '@slipway/gpu-agent/executors/executor';
import type { Worker } from '@slipway/gpu-agent/workloads/workers/worker';
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Ended, HistoryEvent } from '../checker/history.ts';
import type { SimInput } from '../parts/sim-worker.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { bodyOf, HeldRequest, postOne } from './bridge-calls.ts';

/** The bridge of an agent that runs. */
export interface SimBridge {
  parts: BridgeParts;
  /** The agent's process. */
  life: Being;
}

interface ProcessOptions {
  world: World;
  machine: string;
  workerId: string;
  token: string;
  concurrency: number;
  /** Where it serves HTTP. `undefined`: it asks for jobs. */
  httpPort: number | undefined;
  /** It outlives its agent, and repeats a call that got no answer. Else it is a command with the Python SDK. */
  isContainer: boolean;
  /** Returns the agent's bridge. `undefined`: no agent runs. */
  bridge(): SimBridge | undefined;
  record(event: HistoryEvent): void;
}

/** A job that it has taken, with the attempt that it is. */
interface Job {
  id: string;
  input: SimInput;
  ref: AttemptRef;
}

/** A handler that runs. */
interface Run {
  ref: AttemptRef;
  token: string;
  streamed: number;
  isStopped: boolean;
}

const USER_AGENT = { container: 'Slipway-Worker/0.3.0', command: 'RunPod-Python-SDK/1.12.0' };
const HOP_MS = { least: 0.1, most: 1 };
const START_MS = { least: 50, most: 600 };
/** Pause after a call that got no answer, and how long the Python SDK sleeps while it is full, in milliseconds. */
const AGAIN_MS = { least: 100, most: 800 };
const SLEEP_MS = 1_000;
const HOLD_MS = 20_000;
const PING_MS = 3_000;
/** Share of jobs during which the process crashes. */
const CRASH_SHARE = 0.004;

export class SimProcess {
  readonly life: Being;
  readonly isContainer: boolean;
  readonly ended: Promise<WorkloadExit>;
  readonly #options: ProcessOptions;
  readonly #exit: (exit: WorkloadExit) => void;
  readonly #runs = new Map<string, Run>();
  readonly #queue: Job[] = [];
  /** Breaks the calls that the agent has not answered. */
  readonly #breaks = new Set<() => void>();
  #isTaking = false;
  #isServing = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.isContainer = options.isContainer;
    this.life = { name: `process ${options.workerId}`, dead: false };
    const { promise, resolve } = Promise.withResolvers<WorkloadExit>();
    this.ended = promise;
    this.#exit = resolve;
    const { world } = options;
    world.after(world.between(START_MS.least, START_MS.most), this.life, () => {
      this.#isServing = options.httpPort !== undefined;
      if (this.#isServing) return;
      this.#take();
      this.#ping();
      this.#waitForStops();
    });
  }

  /** Returns whether it serves HTTP at a port. */
  servesAt(port: number): boolean {
    return this.#isServing && this.#options.httpPort === port;
  }

  /** Attempts whose handlers run. */
  get running(): AttemptRef[] {
    return [...this.#runs.values()].map(({ ref }) => ref);
  }

  /** Ends it with all its handlers. */
  end(exit: Partial<WorkloadExit>): void {
    if (this.life.dead) return;
    this.life.dead = true;
    for (const run of this.#runs.values()) this.#ended(run, 'KILLED');
    this.#runs.clear();
    this.#break();
    this.#exit({ code: undefined, signal: undefined, failure: undefined, ...exit });
  }

  /** Its agent has died: no call is answered any more. */
  agentDied(): void {
    this.#break();
  }

  #break(): void {
    for (const stop of [...this.#breaks]) stop();
  }

  /** Makes a call. Returns `undefined` if there was no answer. */
  #call<Value>(run: (parts: BridgeParts, worker: Worker) => Promise<Value>): Promise<Value | undefined> {
    const { world, bridge, workerId: worker, token, isContainer } = this.#options;
    const { parts, life } = bridge() ?? {};
    if (!parts || !life) return this.#pause().then(() => undefined);
    return new Promise((resolve) => {
      const stop = (): void => {
        this.#breaks.delete(stop);
        resolve(undefined);
      };
      this.#breaks.add(stop);
      const hop = (to: Being, then: () => void): void =>
        void world.after(world.between(HOP_MS.least, HOP_MS.most), to, then);
      hop(life, () => {
        const found = workerOf(parts, { token, worker }, isContainer ? USER_AGENT.container : USER_AGENT.command);
        if (typeof found === 'string') return hop(this.life, stop);
        run(parts, found).then(
          (value) => {
            // What is in the socket arrives, also if the agent dies now.
            this.#breaks.delete(stop);
            hop(this.life, () => resolve(value));
          },
          () => hop(this.life, stop),
        );
      });
    });
  }

  #pause(): Promise<void> {
    const { world } = this.#options;
    return world.pause(world.between(AGAIN_MS.least, AGAIN_MS.most), this.life);
  }

  /** Takes jobs whenever it has a free slot. */
  #take(): void {
    const { world, concurrency, isContainer } = this.#options;
    const held = this.#runs.size + this.#queue.length;
    if (this.#isTaking || this.life.dead) return;
    if (held >= concurrency) {
      if (!isContainer) world.after(SLEEP_MS, this.life, () => this.#take());
      return;
    }
    this.#isTaking = true;
    const call = {
      ...{ requested: concurrency - held, batch: true, idle: held === 0 },
      concurrency: isContainer ? concurrency : undefined,
    };
    void this.#call((parts, worker) => this.#hold(parts, worker, call)).then(async (jobs) => {
      if (jobs === undefined) await this.#pause();
      this.#isTaking = false;
      this.#queue.push(...(jobs ?? []));
      this.#beginNext();
      if (!this.isContainer) this.#take();
    });
  }

  /** Holds a take open at the agent. */
  #hold(parts: BridgeParts, worker: Worker, call: Parameters<typeof holdTake>[2]): Promise<Job[]> {
    return new Promise((resolve) => {
      if (worker.isStopping) return void parts.clock.after(LEAVING_PAUSE_MS, () => resolve([]));
      holdTake(parts, worker, call, (onClosed) => {
        const held = new HeldRequest(this.life, onClosed, (body) => {
          const jobs = body === undefined ? [] : (JSON.parse(body) as Omit<Job, 'ref'>[]);
          const holding = parts.holdings.get(worker.id);
          resolve(
            jobs.flatMap((job) => {
              const ref = holding?.of(job.id)?.ref;
              return ref ? [{ ...job, ref }] : [];
            }),
          );
        });
        parts.clock.after(HOLD_MS, () => held.empty());
        return held;
      });
    });
  }

  #ping(): void {
    const { world } = this.#options;
    void this.#call(async (parts, worker) =>
      parts.evidence.listed(worker, new Set([...this.#runs.keys(), ...this.#queue.map(({ id }) => id)])),
    );
    world.after(PING_MS, this.life, () => this.#ping());
  }

  /** Holds a stop poll open. */
  #waitForStops(): void {
    const poll = (parts: BridgeParts, worker: Worker): Promise<string[]> =>
      new Promise((resolve) => {
        const held = new HeldRequest(
          this.life,
          () => release(),
          (body) => resolve(body === undefined ? [] : (JSON.parse(body) as { jobsToStop: string[] }).jobsToStop),
        );
        const release = parts.polls.holdStop(worker.id, held);
        parts.clock.after(HOLD_MS, () => held.empty());
        parts.stopper.deliver(worker.id);
      });
    void this.#call(poll).then(async (jobs) => {
      for (const job of jobs ?? []) this.#stop(job);
      if (jobs === undefined) await this.#pause();
      this.#waitForStops();
    });
  }

  #stop(job: string): void {
    const run = this.#runs.get(job);
    if (!run) return;
    run.isStopped = true;
    this.#runs.delete(job);
    this.#ended(run, 'KILLED');
    this.#beginNext();
  }

  #beginNext(): void {
    const { concurrency } = this.#options;
    while (this.#runs.size < concurrency && this.#queue.length > 0) void this.#run(this.#queue.shift()!);
    // The Python SDK sleeps while it is full.
    if (this.isContainer) this.#take();
  }

  async #run({ id, ref, input: { client, ms, fails, chunks = 0 } }: Job): Promise<void> {
    const { world, machine, record } = this.#options;
    const run: Run = { ref, token: world.random.id(8), streamed: 0, isStopped: false };
    this.#runs.set(id, run);
    const { token } = run;
    record({ is: 'started', atMs: world.nowMs, job: id, attempt: ref.attempt, machine, token, client });
    world.note(machine, 'starts', `${id}/${ref.attempt}`, token);
    if (world.chance(CRASH_SHARE)) world.after(world.between(0, ms), this.life, () => this.end({ code: 1 }));
    for (let number = 1; number <= chunks; number += 1) {
      await world.pause(ms / (chunks + 1), this.life);
      if (run.isStopped) return;
      run.streamed = number;
      await this.#post(run, (parts, worker) => postOne(parts, worker, id, { token, number }));
      if (run.isStopped) return;
    }
    await world.pause(ms / (chunks + 1), this.life);
    if (run.isStopped) return;
    this.#runs.delete(id);
    this.#ended(run, fails ? 'FAILED' : 'COMPLETED');
    const values = Array.from({ length: chunks }, (_, index) => ({ token, number: index + 1 }));
    const result = fails ? { error: `failed ${token}` } : { output: chunks > 0 ? values : { token } };
    const isStream = chunks > 0;
    await this.#post(run, (parts, worker) =>
      postResult(parts, worker, id, { body: bodyOf(result), isStream, continues: this.isContainer }),
    );
    this.#beginNext();
  }

  /** Posts a value or a result, until the agent has it. */
  async #post(run: Run, post: (parts: BridgeParts, worker: Worker) => Promise<unknown>): Promise<void> {
    while (!run.isStopped) {
      const answer = await this.#call(async (parts, worker) => [await post(parts, worker)]);
      if (answer) return;
      await this.#pause();
    }
  }

  #ended({ ref, token, streamed: chunks }: Run, how: Ended['how']): void {
    const { world, record } = this.#options;
    record({ is: 'ended', atMs: world.nowMs, job: ref.jobId, attempt: ref.attempt, token, how, chunks });
  }
}
