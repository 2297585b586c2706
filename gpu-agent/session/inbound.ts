/** Dispatches core's messages on the session to the parts that they concern, in the order of the message's fields. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { DesiredImage, SessionResponse, WorkerLogRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineSettings } from '@slipway/proto/gen/slipway/v1/machine';
import { WORKER_LOG_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { AttemptStopper } from '../attempts/attempt-stopper.ts';
import type { ChunkLog } from '../attempts/chunk-log.ts';
import type { Intake } from '../attempts/intake.ts';
import type { JobSpans } from '../attempts/job-spans.ts';
import type { OutcomeReporter } from '../attempts/outcome-reporter.ts';
import type { LogArchive } from '../launch/log-archive.ts';
import type { PodRegistry } from '../workloads/pods/pod-registry.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import { readJobLog } from './job-log.ts';
import type { LargePayloads } from './large-payloads.ts';
import type { Outbox } from './outbox.ts';

/** Parts that handle the messages. */
interface InboundParts {
  pool: WorkerPool;
  pods: PodRegistry;
  /** Cache of the machine's images. */
  images: { want(images: readonly DesiredImage[]): void };
  /** Settings that the machine has from its pool. */
  settings: { apply(settings: MachineSettings | undefined): void };
  /** Gives models of this machine to others. */
  models: { setPeerKey(key: Uint8Array): void };
  intake: Intake;
  stopper: AttemptStopper;
  outcomes: OutcomeReporter;
  chunks: ChunkLog;
  large: LargePayloads;
  archive: LogArchive;
  /** Tell to which attempt a line of a worker's log belongs. */
  spans: JobSpans;
  clock: Clock;
  outbox: Outbox;
  logger: Logger;
}

export class Inbound {
  readonly #parts: InboundParts;
  #closed = false;
  /** Messages that came before the agent could handle them; `undefined` if it can. */
  #held: SessionResponse[] | undefined;

  constructor(parts: InboundParts) {
    this.#parts = parts;
  }

  /** Stops starting anything new: the agent is stopping. */
  close(): void {
    this.#closed = true;
  }

  /** Queues messages: the agent cannot handle them yet. */
  hold(): void {
    this.#held ??= [];
  }

  /** Handles the queued messages, and from now on every message at once. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const message of held) this.receive(message);
  }

  /** Handles one message. */
  receive(message: SessionResponse): void {
    if (this.#held) return void this.#held.push(message);
    const { pool, pods, images, settings, models, intake, stopper, outcomes, chunks, large } = this.#parts;
    if (message.welcome) {
      pool.connected();
      models.setPeerKey(message.welcome.modelPeerKey);
    }
    if (message.desired && !this.#closed) {
      // Pods first: a worker may get the GPU of a pod that is to go.
      pods.apply(message.desired.pods);
      pool.apply(message.desired);
      images.want(message.desired.images);
      settings.apply(message.desired.settings);
    }
    if (message.assignments.length > 0) intake.assign(message.assignments);
    if (message.stops.length > 0) stopper.stop(message.stops);
    for (const ref of message.recalls) stopper.revoke(ref);
    for (const ref of message.outcomeAcks) outcomes.acknowledge(ref);
    for (const ack of message.chunkAcks) chunks.acknowledge(ack);
    if (message.chunkAcks.length > 0) large.pump();
    for (const request of message.logRequests) void this.#sendLog(request);
  }

  async #sendLog(request: WorkerLogRequest): Promise<void> {
    const { pool, pods, archive, outbox, logger } = this.#parts;
    const bytes = Math.min(Math.max(request.tailBytes, 0), WORKER_LOG_BYTES_MAX);
    try {
      if (request.job) {
        const job = await readJobLog(this.#parts, request.workerId, request.job);
        return outbox.addLogReply({
          requestId: request.requestId,
          log: Buffer.alloc(0),
          found: job !== undefined,
          job,
        });
      }
      const ring = (pool.get(request.workerId) ?? pods.get(request.workerId))?.log;
      // A worker or pod that has written nothing yet may have a log of an earlier run of the agent.
      const log =
        ring && ring.size > 0 ? ring.tail(bytes) : ((await archive.tail(request.workerId, bytes)) ?? ring?.tail(bytes));
      outbox.addLogReply({
        requestId: request.requestId,
        log: log ?? Buffer.alloc(0),
        found: log !== undefined,
        job: undefined,
      });
    } catch (error) {
      const { workerId, job } = request;
      const endpointId = pool.get(workerId)?.endpointId;
      logger.warn(
        { err: error, endpointId, jobId: job?.jobId, attempt: job?.attempt, workerId },
        'log could not be read',
      );
      outbox.addLogReply({ requestId: request.requestId, log: Buffer.alloc(0), found: false, job: undefined });
    }
  }
}
