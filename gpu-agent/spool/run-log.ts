/**
 * State that this run of the agent leaves for the next: the workers and pods that run in containers, the attempts that
 * they hold, and the chunks of these that core has not stored. Containers outlive their agent; the next one continues
 * with them without interruption. The log holds no environment and no secret except the token by which the bridge
 * authenticates a worker.
 */
import { join } from 'node:path';
import type { Disk } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';
import type { AttemptChunk, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { attemptKey } from './attempt-key.ts';
import { KeyedLog, readKeyedLog } from './keyed-log.ts';

/** State of the run as a whole. Times are `Clock.machineMs`. */
interface RunRecord {
  /** URL at which containers reach the bridge. */
  bridge: string;
  /** Data that a worker sends while no agent listens waits for the next agent. Otherwise it is lost. */
  isPatient: boolean;
  /** Time at which the run was last alive. */
  aliveMs: number;
  /** Time at which the last answered heartbeat was sent. Absent if there was no lease. */
  leaseFromMs?: number;
  leaseMs: number;
}

/** A worker whose container runs. */
export interface WorkerRecord {
  endpointId: string;
  token: string;
  image: string;
  gpuUuids: readonly string[];
  concurrency: number;
  version: number;
  initTimeoutSeconds: number;
  /** Its memory limit in GB. Absent in a record of an earlier release. */
  memoryGb?: number;
  httpServer?: { port: number; healthPort: number; healthPath: string };
  /** Version of its SDK; empty until the worker reported it. */
  sdk: string;
  asked: boolean;
  frozen: boolean;
  /** Its GPU memory was being moved. */
  moving?: true;
  /** Its GPU memory is in host memory. */
  offloaded?: { pids: readonly number[]; cards: readonly { uuid: string; bytes: number }[] };
  /** It wants to be replaced. */
  refresh: boolean;
}

/** A pod whose container runs. */
interface PodRecord {
  run: number;
  disk: number;
  image: string;
  gpuUuids: readonly string[];
}

/** An attempt that a recorded worker was given. */
export interface AttemptRecord {
  ref: AttemptRef;
  chunkNumber: number;
  yielded: number;
  leftOut?: string;
  missed?: string;
  /** A value was on its way. */
  begun?: boolean;
  /** The last value, while its worker may not have seen the answer; the worker then sends it again. */
  lastValue?: { mark: string; before: number };
}

/** Everything that a run left. */
export interface LastRun {
  run: RunRecord | undefined;
  workers: ReadonlyMap<string, WorkerRecord>;
  pods: ReadonlyMap<string, PodRecord>;
  attempts: readonly AttemptRecord[];
  /** By attempt, in order. */
  chunks: ReadonlyMap<string, AttemptChunk[]>;
}

interface ChunkRecord {
  ref: AttemptRef;
  number: number;
  /** Its bytes as Latin-1, so that each byte is restored as it was. */
  output: string;
  metrics?: string;
}

type Kind = 'run' | 'worker' | 'pod' | 'attempt' | 'chunk';

const NAME = 'run.log';

export class RunLog {
  readonly #log: KeyedLog<unknown>;
  /** Numbers of the chunks that are kept, by attempt. */
  readonly #chunks = new Map<string, number[]>();
  readonly #kept = new Set<string>();

  /** `folder`: the agent's data folder. */
  constructor({ folder, logger, disk }: { folder: string; logger: Logger; disk: Disk }) {
    this.#log = new KeyedLog({ path: join(folder, NAME), logger, disk });
  }

  /** Opens the log. Returns what the previous run left, which stays in the log until it is removed. */
  async open(): Promise<LastRun> {
    const last = sorted(await this.#log.open());
    for (const id of [...last.workers.keys(), ...last.pods.keys()]) this.#kept.add(id);
    for (const [key, chunks] of last.chunks)
      this.#chunks.set(
        key,
        chunks.map(({ number }) => number),
      );
    return last;
  }

  /** True if something runs that outlives this agent. */
  get hasRecords(): boolean {
    return this.#kept.size > 0;
  }

  run(run: RunRecord): void {
    this.#log.set('run', run);
  }

  /** Records a worker; `undefined` if nothing of it runs any more. */
  worker(workerId: string, worker: WorkerRecord | undefined): void {
    this.#workload('worker', workerId, worker);
  }

  /** Records a pod; `undefined` if nothing of it runs any more. */
  pod(podId: string, pod: PodRecord | undefined): void {
    this.#workload('pod', podId, pod);
  }

  /** Records the current state of an attempt. */
  attempt(attempt: AttemptRecord): void {
    this.#log.set(nameOf('attempt', attemptKey(attempt.ref)), attempt);
  }

  /** Forgets an attempt that has ended and whose outcome is safe. */
  forgetAttempt(key: string): void {
    this.#log.delete(nameOf('attempt', key));
    this.stored(key, Infinity);
  }

  chunk({ ref, number, output, metrics }: AttemptChunk): void {
    const key = attemptKey(ref!);
    const numbers = this.#chunks.get(key);
    if (numbers) numbers.push(number);
    else this.#chunks.set(key, [number]);
    const kept: ChunkRecord = {
      ref: ref!,
      number,
      output: latin1(output),
      ...(metrics && { metrics: latin1(metrics) }),
    };
    this.#log.set(nameOf('chunk', key, number), kept);
  }

  /** Forgets the attempt's chunks up to this number: core has stored them. */
  stored(key: string, upTo: number): void {
    const numbers = this.#chunks.get(key);
    if (!numbers) return;
    for (const number of numbers) if (number <= upTo) this.#log.delete(nameOf('chunk', key, number));
    const left = numbers.filter((number) => number > upTo);
    if (left.length > 0) this.#chunks.set(key, left);
    else this.#chunks.delete(key);
  }

  /** Resolves when the next run would find all records so far, or when they could not be written. Never rejects. */
  written(): Promise<void> {
    return this.#log.written();
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #workload(kind: Kind, id: string, value: WorkerRecord | PodRecord | undefined): void {
    const name = nameOf(kind, id);
    if (value) {
      this.#kept.add(id);
      this.#log.set(name, value);
    } else if (this.#kept.delete(id)) this.#log.delete(name);
  }
}

/** Returns what the agent of this data folder left, or has recorded so far. Rejects if it cannot be read. */
export async function readRunLog(folder: string, disk: Disk): Promise<LastRun> {
  return sorted(await readKeyedLog(join(folder, NAME), disk));
}

function sorted(left: ReadonlyMap<string, unknown>): LastRun {
  const of = <Value>(kind: Kind): [string, Value][] =>
    [...left]
      .filter(([name, value]) => name.startsWith(`${kind}/`) && isWhole(kind, value))
      .map(([name, value]) => [name.slice(kind.length + 1), value as Value]);
  const chunks = new Map<string, AttemptChunk[]>();
  for (const [, { ref, number, output, metrics }] of of<ChunkRecord>('chunk')) {
    const key = attemptKey(ref);
    const chunk = {
      ref,
      number,
      output: Buffer.from(output, 'latin1'),
      metrics: metrics === undefined ? undefined : Buffer.from(metrics, 'latin1'),
    };
    // An attempt may have many thousands of chunks.
    const own = chunks.get(key);
    if (own) own.push(chunk);
    else chunks.set(key, [chunk]);
  }
  for (const list of chunks.values()) list.sort((a, b) => a.number - b.number);
  return {
    run: isWhole('run', left.get('run')) ? (left.get('run') as RunRecord) : undefined,
    workers: new Map(of<WorkerRecord>('worker')),
    pods: new Map(of<PodRecord>('pod')),
    attempts: of<AttemptRecord>('attempt').map(([, attempt]) => attempt),
    chunks,
  };
}

/**
 * Required fields of each kind. A line without them was not written by an agent. What it describes is over, but
 * everything else does.
 */
const WHOLE: Readonly<Record<Kind, (value: Record<string, unknown>) => boolean>> = {
  run: ({ bridge, aliveMs, leaseMs }) => isText(bridge) && Number.isFinite(aliveMs) && Number.isFinite(leaseMs),
  worker: ({ endpointId, token, image, gpuUuids }) =>
    [endpointId, token, image].every(isText) && Array.isArray(gpuUuids),
  pod: ({ image, gpuUuids }) => isText(image) && Array.isArray(gpuUuids),
  attempt: ({ ref, chunkNumber }) => isRef(ref) && Number.isSafeInteger(chunkNumber),
  chunk: ({ ref, number, output }) => isRef(ref) && Number.isSafeInteger(number) && isText(output),
};

function isWhole(kind: Kind, value: unknown): boolean {
  return typeof value === 'object' && value !== null && WHOLE[kind](value as Record<string, unknown>);
}

function isRef(value: unknown): boolean {
  const { endpointId, jobId, workerId, attempt } = (value ?? {}) as Partial<AttemptRef>;
  return [endpointId, jobId, workerId].every(isText) && Number.isSafeInteger(attempt);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function nameOf(kind: Kind, ...parts: (string | number)[]): string {
  return [kind, ...parts].join('/');
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
