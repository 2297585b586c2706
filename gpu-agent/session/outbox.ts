/**
 * Data that waits to be sent to core on the session. States (heartbeat, workers, pods, progress) are kept once and
 * replaced. Outcomes and log replies are queues, and chunks wait in their log. What arrives while the stream is busy
 * leaves together in the next message. The outbox is bounded by what the agent holds: one entry per worker and pod, one
 * outcome per attempt, and the chunk log's own limits.
 */

import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import type {
  AttemptOutcome,
  AttemptProgress,
  AttemptRef,
  GpuLoads,
  MachineContainers,
  MachineModels,
  PodReport,
  WorkerLogReply,
  WorkerReport,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ChunkLog } from '../attempts/chunk-log.ts';
import { ownBytes } from '../attempts/own-bytes.ts';
import type { ToCore } from '../attempts/to-core.ts';
import { attemptKey } from '../spool/attempt-key.ts';

/** Approximate size of the fixed part of an entry in bytes, for the message limit. */
const ENTRY_BYTES = 160;

/** Current states, for the message that is being composed. `undefined` if the worker or pod is forgotten. */
export interface Reports {
  worker(workerId: string): WorkerReport | undefined;
  pod(podId: string): PodReport | undefined;
  containers(): MachineContainers;
  gpuLoads(): GpuLoads;
  models(): MachineModels;
}

export class Outbox implements ToCore {
  /** Called when something waits; set by the current session. */
  onWaiting: (() => void) | undefined;
  #heartbeat: number | undefined;
  readonly #workers = new Set<string>();
  readonly #pods = new Set<string>();
  #containers = false;
  #gpuLoads = false;
  #models = false;
  #goodbye = false;
  #waiting = new Map<string, AttemptRef>();
  readonly #progress = new Map<string, AttemptProgress>();
  readonly #chunks: ChunkLog;
  readonly #outcomes = new BatchQueue<AttemptOutcome>();
  /** Outcomes of attempts whose chunks have not all left. */
  readonly #deferred = new Map<string, AttemptOutcome>();
  readonly #logReplies = new BatchQueue<WorkerLogReply>();
  /** A message was taken and has not left yet. */
  #leaving = false;
  #waitingForIdle: (() => void)[] = [];

  constructor(chunks: ChunkLog) {
    this.#chunks = chunks;
    chunks.onWaiting = () => this.onWaiting?.();
  }

  /** True if nothing waits. */
  get isEmpty(): boolean {
    return this.#chunks.isEmpty && this.#deferred.size === 0 && !this.#hasOthers;
  }

  /** True if something waits besides chunks and the outcomes behind them. */
  get #hasOthers(): boolean {
    const queued = this.#outcomes.length + this.#logReplies.length;
    return (
      this.#heartbeat !== undefined ||
      this.#containers ||
      this.#models ||
      this.#goodbye ||
      this.#workers.size + this.#pods.size + this.#progress.size + this.#waiting.size + queued > 0
    );
  }

  addHeartbeat(sequence: number): void {
    this.#heartbeat = sequence;
    this.onWaiting?.();
  }

  /** Marks the worker as changed. Its report is composed together with the message. */
  addWorker(workerId: string): void {
    this.#workers.add(workerId);
    this.onWaiting?.();
  }

  /** Marks the pod as changed. Its report is composed together with the message. */
  addPod(podId: string): void {
    this.#pods.add(podId);
    this.onWaiting?.();
  }

  addProgress(progress: AttemptProgress): void {
    this.#progress.set(attemptKey(progress.ref!), { ...progress, output: ownBytes(progress.output) });
    this.onWaiting?.();
  }

  addWaiting(ref: AttemptRef): void {
    this.#waiting.set(attemptKey(ref), ref);
    this.onWaiting?.();
  }

  /** Marks the engine or images as changed. */
  addContainers(): void {
    this.#containers = true;
    this.onWaiting?.();
  }

  /** Marks loads as changed. They leave with the next message; if there is no other, with the next heartbeat. */
  addGpuLoads(): void {
    this.#gpuLoads = true;
  }

  /** Marks models as changed. */
  addModels(): void {
    this.#models = true;
    this.onWaiting?.();
  }

  /** Sends that the machine leaves for good. */
  addLeaving(): void {
    this.#goodbye = true;
    this.onWaiting?.();
  }

  addOutcome(outcome: AttemptOutcome, key = attemptKey(outcome.ref!)): void {
    // A progress value that leaves after the outcome would only be ignored.
    this.#progress.delete(key);
    if (this.#chunks.hasUnsent(key)) this.#deferred.set(key, outcome);
    else this.#queue(outcome);
    this.onWaiting?.();
  }

  addLogReply(reply: WorkerLogReply): void {
    this.#logReplies.add(reply, ENTRY_BYTES + reply.log.length);
    this.onWaiting?.();
  }

  /**
   * Clears the reports for a new session, whose hello describes all workers and pods as they are now. Later changes
   * wait for the welcome.
   */
  beginSession(): void {
    this.#leaving = false;
    this.#heartbeat = undefined;
    this.#workers.clear();
    this.#pods.clear();
    this.#containers = false;
    // A hello does not contain them.
    this.#gpuLoads = true;
    this.#models = false;
    this.#waiting.clear();
    this.#logReplies.clear();
  }

  /** Drops the outcomes: their owner sends all of them again. */
  beginResend(): void {
    this.#deferred.clear();
    this.#outcomes.clear();
  }

  /** Returns the next message, of about 1 MiB at most; `undefined` if nothing waits. */
  take(reports: Reports): SessionRequest | undefined {
    if (!this.#hasOthers && !this.#chunks.isReady) return undefined;
    this.#leaving = true;
    const message = SessionRequest.create();
    const budget = new MessageBudget();
    if (this.#heartbeat !== undefined) message.heartbeat = { sequence: this.#heartbeat };
    this.#heartbeat = undefined;
    message.workers = [...this.#workers].flatMap((id) => reports.worker(id) ?? []);
    this.#workers.clear();
    message.pods = [...this.#pods].flatMap((id) => reports.pod(id) ?? []);
    this.#pods.clear();
    if (this.#containers) message.containers = reports.containers();
    this.#containers = false;
    if (this.#gpuLoads) message.gpuLoads = reports.gpuLoads();
    this.#gpuLoads = false;
    if (this.#models) message.models = reports.models();
    this.#models = false;
    message.leaving = this.#goodbye;
    this.#goodbye = false;
    message.waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    message.chunks = this.#chunks.take(budget);
    this.#follow();
    for (const [key, progress] of this.#progress) {
      if (!budget.take(ENTRY_BYTES + progress.output.length)) break;
      message.progress.push(progress);
      this.#progress.delete(key);
    }
    message.outcomes = this.#outcomes.take(budget);
    message.logReplies = this.#logReplies.take(budget);
    return message;
  }

  #queue(outcome: AttemptOutcome): void {
    this.#outcomes.add(outcome, ENTRY_BYTES + (outcome.output?.length ?? 0) + outcome.error.length);
  }

  /**
   * Queues held-back outcomes whose chunks have left. An outcome must not overtake its own chunks, and must not wait
   * for those of others.
   */
  #follow(): void {
    for (const [key, outcome] of this.#deferred) {
      if (this.#chunks.hasUnsent(key)) continue;
      this.#deferred.delete(key);
      this.#queue(outcome);
    }
  }

  /** Records that the message that was taken has left. */
  left(): void {
    this.#leaving = false;
    if (this.isEmpty) for (const wake of this.#waitingForIdle.splice(0)) wake();
  }

  /** Resolves when nothing waits and the last message has left. Without a session that may never happen. */
  idle(): Promise<void> {
    if (this.isEmpty && !this.#leaving) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForIdle.push(resolve));
  }
}
