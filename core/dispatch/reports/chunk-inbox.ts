/**
 * Writes streamed output of one agent. One write per endpoint is in flight, and chunks that arrive meanwhile share
 * the next one. So chunks keep their order even if a write is retried. Chunks are acknowledged after the commit.
 */
import type { AttemptRef, AttemptChunk as ChunkMessage } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import type { AttemptCalls } from '../../jobs/job-engine.ts';
import type { AttemptChunk } from '../../jobs/record/attempt-report.ts';
import { keyFromRef } from '../agent-messages.ts';
import type { SessionOutbox } from '../session-outbox.ts';

interface ChunkInboxOptions {
  attempts: Pick<AttemptCalls, 'appendChunks'>;
  outbox: Pick<SessionOutbox, 'ackChunk' | 'stop'>;
  /** Writes until it succeeds or the session is over; false: it is over. Never rejects. */
  write(ids: object, write: () => Promise<unknown>): Promise<boolean>;
  /** Adds to, or subtracts from, the items and bytes in flight. */
  count(items: number, bytes: number): void;
}

interface Given {
  ref: AttemptRef;
  chunk: AttemptChunk;
}

/** The chunks of an endpoint. */
interface Lane {
  waiting: Given[];
  isWriting: boolean;
  /** Chunks that came and that were written, ever. */
  received: number;
  written: number;
  /** Waiters for all chunks that had arrived when they began to wait. */
  followers: { received: number; go(): void }[];
}

/** Most chunks of one write; the engine stores them by one statement. */
const WRITE_CHUNKS_MAX = 500;

export class ChunkInbox {
  readonly #options: ChunkInboxOptions;
  readonly #lanes = new Map<string, Lane>();

  constructor(options: ChunkInboxOptions) {
    this.#options = options;
  }

  /** Queues the chunks of a message. */
  add(messages: readonly ChunkMessage[], machineId: string): void {
    const touched = new Set<string>();
    for (const { ref, number, output, metrics } of messages) {
      const key = keyFromRef(ref, machineId);
      if (!key || number < 1) continue;
      const { endpointId, jobId, attempt } = key;
      let lane = this.#lanes.get(endpointId);
      if (!lane)
        this.#lanes.set(endpointId, (lane = { waiting: [], isWriting: false, received: 0, written: 0, followers: [] }));
      const chunk = { endpointId, jobId, attempt, machineId, number, output, metrics };
      lane.waiting.push({ ref: ref!, chunk });
      lane.received += 1;
      this.#options.count(1, bytesOf(chunk));
      touched.add(endpointId);
    }
    for (const endpointId of touched) {
      const lane = this.#lanes.get(endpointId)!;
      if (!lane.isWriting) void this.#writeAll(endpointId, lane);
    }
  }

  /**
   * Resolves when all earlier chunks of the attempt's endpoint are written, or the session has ended. Returns
   * `undefined` if no chunk is in flight.
   */
  written({ endpointId }: MachineAttempt): Promise<void> | undefined {
    const lane = this.#lanes.get(endpointId);
    if (!lane) return undefined;
    return new Promise((go) => {
      lane.followers.push({ received: lane.received, go });
    });
  }

  /** Never rejects. */
  async #writeAll(endpointId: string, lane: Lane): Promise<void> {
    lane.isWriting = true;
    while (lane.waiting.length > 0) {
      const given = lane.waiting.splice(0, WRITE_CHUNKS_MAX);
      await this.#write(endpointId, given);
      lane.written += given.length;
      while (lane.followers.length > 0 && lane.followers[0]!.received <= lane.written) lane.followers.shift()!.go();
    }
    this.#lanes.delete(endpointId);
  }

  async #write(endpointId: string, given: readonly Given[]): Promise<void> {
    const { attempts, outbox, write, count } = this.#options;
    const chunks = given.map(({ chunk }) => chunk);
    let rejected: readonly AttemptChunk[] = [];
    const isWritten = await write({ endpointId, machineId: chunks[0]!.machineId, chunks: chunks.length }, async () => {
      rejected = await attempts.appendChunks(chunks);
    });
    count(-chunks.length, -chunks.reduce((bytes, chunk) => bytes + bytesOf(chunk), 0));
    if (!isWritten) return;
    for (const chunk of rejected)
      outbox.stop(given[chunks.indexOf(chunk)]!.ref, 'it streamed a value that is too large or not JSON');
    for (const { ref, chunk } of given) outbox.ackChunk(chunk, ref, chunk.number);
  }
}

function bytesOf({ output, metrics }: AttemptChunk): number {
  return output.length + (metrics?.length ?? 0);
}
