/**
 * What waits to go to core on the session. Levels (heartbeat, workers, pods, progress) are kept once and replaced;
 * outcomes and log replies are queues, and chunks wait in their log. What gathers while the stream is busy leaves
 * together in the next message. Bounded by what the agent holds: one entry per worker and pod, one outcome per attempt,
 * and the chunk log's own limits.
 */

import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import type {
  AttemptOutcome,
  AttemptProgress,
  AttemptRef,
  GpuLoads,
  MachineContainers,
  PodReport,
  WorkerLogReply,
  WorkerReport,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ChunkLog } from '../attempts/chunk-log.ts';
import { ownBytes } from '../attempts/own-bytes.ts';
import type { ToCore } from '../attempts/to-core.ts';
import { attemptKey } from '../spool/attempt-key.ts';

/** Rough size of the fixed part of an entry in bytes, for the message limit. */
const ENTRY_BYTES = 160;

/** The levels of this moment, for the message that leaves now. Undefined: it is forgotten. */
export interface Reports {
  worker(workerId: string): WorkerReport | undefined;
  pod(podId: string): PodReport | undefined;
  containers(): MachineContainers;
  gpuLoads(): GpuLoads;
}

export class Outbox implements ToCore {
  /** Called when something waits; the session of the day sets it. */
  onWaiting: (() => void) | undefined;
  #heartbeat: number | undefined;
  readonly #workers = new Set<string>();
  readonly #pods = new Set<string>();
  #containers = false;
  #gpuLoads = false;
  #waiting = new Map<string, AttemptRef>();
  readonly #progress = new Map<string, AttemptProgress>();
  readonly #chunks: ChunkLog;
  readonly #outcomes = new BatchQueue<AttemptOutcome>();
  /** Outcomes of attempts whose chunks have not all left. */
  readonly #heldBack = new Map<string, AttemptOutcome>();
  readonly #logReplies = new BatchQueue<WorkerLogReply>();
  /** A message was taken and has not left yet. */
  #leaving = false;
  #waitingForIdle: (() => void)[] = [];

  constructor(chunks: ChunkLog) {
    this.#chunks = chunks;
    chunks.onWaiting = () => this.onWaiting?.();
  }

  /** Nothing waits. */
  get isEmpty(): boolean {
    return this.#chunks.isEmpty && this.#heldBack.size === 0 && !this.#hasOthers;
  }

  /** Something waits besides chunks and the outcomes behind them. */
  get #hasOthers(): boolean {
    const queued = this.#outcomes.length + this.#logReplies.length;
    return (
      this.#heartbeat !== undefined ||
      this.#containers ||
      this.#workers.size + this.#pods.size + this.#progress.size + this.#waiting.size + queued > 0
    );
  }

  addHeartbeat(sequence: number): void {
    this.#heartbeat = sequence;
    this.onWaiting?.();
  }

  /** The worker changed; its report is made when the message is. */
  addWorker(workerId: string): void {
    this.#workers.add(workerId);
    this.onWaiting?.();
  }

  /** The pod changed; its report is made when the message is. */
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

  /** Engine or images changed. */
  addContainers(): void {
    this.#containers = true;
    this.onWaiting?.();
  }

  /** GPUs are busier or less busy: it leaves with the next message, which a heartbeat makes if nothing else does. */
  addGpuLoads(): void {
    this.#gpuLoads = true;
  }

  addOutcome(outcome: AttemptOutcome, key = attemptKey(outcome.ref!)): void {
    // A progress value that leaves after the outcome would only be ignored.
    this.#progress.delete(key);
    if (this.#chunks.holdsBack(key)) this.#heldBack.set(key, outcome);
    else this.#queue(outcome);
    this.onWaiting?.();
  }

  addLogReply(reply: WorkerLogReply): void {
    this.#logReplies.add(reply, ENTRY_BYTES + reply.log.length);
    this.onWaiting?.();
  }

  /**
   * A new session's hello tells all about workers and pods as they are now; what changes from here on waits for the
   * welcome.
   */
  beginSession(): void {
    this.#leaving = false;
    this.#heartbeat = undefined;
    this.#workers.clear();
    this.#pods.clear();
    this.#containers = false;
    // A hello does not tell of them.
    this.#gpuLoads = true;
    this.#waiting.clear();
    this.#logReplies.clear();
  }

  /** Drops the outcomes: their owner sends all of them again. */
  beginResend(): void {
    this.#heldBack.clear();
    this.#outcomes.clear();
  }

  /** The next message, of about 1 MiB at most, or undefined when nothing waits. */
  take(reports: Reports): SessionRequest | undefined {
    if (!this.#hasOthers && !this.#chunks.isReady) return undefined;
    this.#leaving = true;
    const message = SessionRequest.create();
    const room = new MessageBudget();
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
    message.waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    message.chunks = this.#chunks.take(room);
    this.#follow();
    for (const [key, progress] of this.#progress) {
      if (!room.take(ENTRY_BYTES + progress.output.length)) break;
      message.progress.push(progress);
      this.#progress.delete(key);
    }
    message.outcomes = this.#outcomes.take(room);
    message.logReplies = this.#logReplies.take(room);
    return message;
  }

  #queue(outcome: AttemptOutcome): void {
    this.#outcomes.add(outcome, ENTRY_BYTES + (outcome.output?.length ?? 0) + outcome.error.length);
  }

  /** An outcome must not overtake its chunks; those of others must not wait for them. */
  #follow(): void {
    for (const [key, outcome] of this.#heldBack) {
      if (this.#chunks.holdsBack(key)) continue;
      this.#heldBack.delete(key);
      this.#queue(outcome);
    }
  }

  /** The message that was taken has left. */
  left(): void {
    this.#leaving = false;
    if (this.isEmpty) for (const wake of this.#waitingForIdle.splice(0)) wake();
  }

  /** Resolves when nothing waits and the last message has left. Without a session that may be never. */
  idle(): Promise<void> {
    if (this.isEmpty && !this.#leaving) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForIdle.push(resolve));
  }
}
