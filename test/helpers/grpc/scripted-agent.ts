/**
 * A minimal agent: it speaks the session protocol over a real socket and runs no processes. Tests script its answers.
 * The benchmark uses it as a no-op worker, because it answers everything that arrives in one message with one message.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type {
  Assignment,
  AttemptOutcome,
  AttemptRef,
  AttemptStop,
  ChunkAck,
  DesiredImage,
  DesiredPod,
  DesiredWorker,
  SessionEnd,
  SessionResponse,
  Welcome,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import {
  AgentServiceClient,
  DesiredState,
  OutcomeKind,
  SessionRequest,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineSettings } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { ScriptedAgentOptions } from './scripted-agent-options.ts';
import { DONE, ENGINE } from './scripted-agent-options.ts';
import type { Move } from './scripted-moves.ts';
import { offloadOf, ScriptedMoves } from './scripted-moves.ts';

/** An agent that tests script. `connect` resolves with the welcome. */
export class ScriptedAgent {
  /** All that core sent, for assertions. */
  readonly assignments: Assignment[] = [];
  readonly stops: AttemptStop[] = [];
  readonly acked: AttemptRef[] = [];
  readonly recalls: AttemptRef[] = [];
  readonly chunkAcks: ChunkAck[] = [];
  desired: DesiredWorker[] = [];
  /** Desired pods in core's last message. */
  desiredPods: DesiredPod[] = [];
  /** Desired images in core's last message. */
  desiredImages: DesiredImage[] = [];
  /** Settings of its pool, as core sent them last. */
  desiredSettings: MachineSettings | undefined;
  /** Core's first message. */
  welcome: Welcome | undefined;
  /** Reason with which core ended the session. */
  end: SessionEnd | undefined;
  /** Resolves when the session has ended. */
  ended: Promise<Error | undefined> = Promise.resolve(undefined);
  readonly #options: ScriptedAgentOptions;
  readonly #client: AgentServiceClient;
  /** Endpoints of running workers, by worker. */
  readonly #known = new Map<string, string>();
  /** Workers in standby. */
  readonly #frozen = new Set<string>();
  /** Offloaded workers. */
  readonly moves = new ScriptedMoves();
  /** Attempts that each worker holds. */
  readonly #held = new Map<string, Set<string>>();
  #stream: ClientDuplexStream<SessionRequest, SessionResponse> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #sequence = 0;

  constructor(options: ScriptedAgentOptions) {
    this.#options = options;
    this.#client = systemTransport.openClient(AgentServiceClient, options.address, { tls: options.tls });
  }

  get machineId(): string {
    return this.#options.machineId ?? 'machine00000';
  }

  connect(): Promise<Welcome> {
    const stream = this.#client.session(callMetadata(this.#options.agentKey));
    this.#stream = stream;
    const {
      gpus = [],
      locations = [],
      cpuSlots = 16,
      standbyMax = 4,
      cpuCount = 0,
      memoryMib = 0,
      cpuModel = '',
      held = [],
      workers = [],
    } = this.#options;
    const machine = {
      id: this.machineId,
      name: this.machineId,
      gpus,
      locations,
      pool: this.#options.pool,
      cpuSlots,
      standbyMax,
      gpuOffload: this.#options.offload && offloadOf(this.#options.offload),
      cpuCount,
      memoryMib,
      cpuModel,
      agentVersion: 'scripted',
      ephemeral: this.#options.ephemeral ?? false,
      leaveTime: this.#options.leaveTime,
      cudaVersion: this.#options.cudaVersion ?? '',
      runsCommands: this.#options.runsCommands ?? true,
      noEngineReason: this.#options.noEngineReason ?? '',
      containerEngine: this.#options.engine === null ? undefined : (this.#options.engine ?? ENGINE),
    };
    const { instance = '', replaces = '', images = [], prefetches = false, recalls = true } = this.#options;
    this.send({
      hello: { machine, workers, attempts: held, instance, replaces, images, prefetches, recalls },
      models: this.#options.models,
    });
    for (const { workerId, endpointId } of workers) this.#known.set(workerId!, endpointId ?? '');
    return new Promise((resolve, reject) => {
      stream.on('data', (message: SessionResponse) => {
        if (message.welcome) this.#welcomed(message.welcome, resolve);
        this.#receive(message);
      });
      this.ended = new Promise((end) => {
        const over = (error?: Error): void => {
          clearInterval(this.#heartbeat);
          end(error);
        };
        stream.on('error', (error) => {
          over(error);
          reject(error);
        });
        stream.on('end', () => over());
      });
    });
  }

  /** Sends any message. */
  send(message: Parameters<typeof SessionRequest.fromPartial>[0]): void {
    this.#stream?.write(SessionRequest.fromPartial(message));
  }

  /** Ends an attempt. */
  finish(ref: AttemptRef, outcome: Partial<AttemptOutcome> = DONE): void {
    this.send({ outcomes: [{ error: '', kind: OutcomeKind.COMPLETED, ...outcome, ref }] });
    this.#letGo(ref);
    this.#stopDrained();
  }

  /** Reports workers as READY with capacity for `capacity` attempts. */
  ready(workers: readonly { workerId: string; endpointId: string }[], capacity = this.#options.capacity ?? 1): void {
    this.send({
      workers: workers.map(({ workerId, endpointId }) => ({
        workerId,
        endpointId,
        state: WorkerState.READY,
        capacity,
        gpuMemoryBytes: this.#options.gpuBytes ?? 0,
      })),
    });
  }

  /** Breaks the connection without a message. */
  drop(): void {
    clearInterval(this.#heartbeat);
    this.#stream?.cancel();
    this.#client.close();
  }

  #welcomed(welcome: Welcome, resolve: (welcome: Welcome) => void): void {
    const period = this.#options.heartbeatMs ?? welcome.heartbeatPeriodMs;
    if (period > 0)
      this.#heartbeat = setInterval(() => this.send({ heartbeat: { sequence: ++this.#sequence } }), period);
    this.welcome = welcome;
    resolve(welcome);
  }

  #receive(message: SessionResponse): void {
    this.end ??= message.end;
    if (message.desired) {
      this.desiredPods = message.desired.pods;
      this.desiredImages = message.desired.images;
      this.desiredSettings = message.desired.settings;
      this.#reconcile(message.desired.workers);
    }
    if (this.#options.record !== false) {
      this.stops.push(...message.stops);
      this.acked.push(...message.outcomeAcks);
      this.recalls.push(...message.recalls);
      this.assignments.push(...message.assignments);
      this.chunkAcks.push(...message.chunkAcks);
    }
    const { onLogRequest } = this.#options;
    const logReplies = message.logRequests.flatMap(({ requestId, ...request }) => {
      const log = onLogRequest ? onLogRequest({ requestId, ...request }) : Buffer.alloc(0);
      return log ? [{ requestId, found: onLogRequest !== undefined, log }] : [];
    });
    if (logReplies.length > 0) this.send({ logReplies });
    this.#end(message);
  }

  /** Ends the attempts and workers that a message ends, all in one message. */
  #end(message: SessionResponse): void {
    const outcomes: Partial<AttemptOutcome>[] = [];
    for (const assignment of message.assignments) {
      const outcome = this.#options.onAssignment ? this.#options.onAssignment(assignment) : DONE;
      if (outcome) outcomes.push({ error: '', kind: OutcomeKind.COMPLETED, ...outcome, ref: assignment.ref });
      else this.#hold(assignment.ref!);
    }
    for (const stop of message.stops) {
      const outcome = this.#options.onStop ? this.#options.onStop(stop) : { kind: OutcomeKind.STOPPED };
      if (outcome) outcomes.push({ error: '', ...outcome, ref: stop.ref });
      if (outcome) this.#letGo(stop.ref!);
    }
    if (outcomes.length > 0) this.send({ outcomes });
    if (message.stops.length > 0) this.#stopDrained();
  }

  #hold(ref: AttemptRef): void {
    const held = this.#held.get(ref.workerId) ?? new Set();
    this.#held.set(ref.workerId, held.add(`${ref.jobId}/${ref.attempt}`));
  }

  #letGo(ref: AttemptRef): void {
    this.#held.get(ref.workerId)?.delete(`${ref.jobId}/${ref.attempt}`);
  }

  #reconcile(workers: DesiredWorker[]): void {
    this.desired = workers;
    const wanted = new Set(workers.map((worker) => worker.workerId));
    const fresh = workers.filter((worker) => worker.desired === DesiredState.RUN && !this.#known.has(worker.workerId));
    this.moves.desire(workers, this.#known);
    for (const { workerId, endpointId } of fresh) {
      this.moves.checkGpus('start', workerId);
      this.#known.set(workerId, endpointId);
    }
    if (this.#options.startWorkers !== false && fresh.length > 0) this.ready(fresh);
    for (const workerId of this.#known.keys()) if (!wanted.has(workerId)) this.#stopped(workerId);
    this.#freezeAndWake();
    this.#stopDrained();
  }

  #freezeAndWake(): void {
    for (const { workerId, endpointId, desired, standbyLevel } of this.desired) {
      const frozen = this.#frozen.has(workerId);
      const move = this.#options.offload && this.moves.due({ workerId, desired, standbyLevel });
      if (move) void this.#move(move, { workerId, endpointId });
      else if (this.moves.offloaded.has(workerId)) continue;
      else if (desired === DesiredState.FREEZE && !frozen) {
        this.#frozen.add(workerId);
        this.send({
          workers: [{ workerId, endpointId, state: WorkerState.FROZEN, gpuMemoryBytes: this.#options.gpuBytes ?? 0 }],
        });
      } else if (desired === DesiredState.RUN && frozen) {
        this.#frozen.delete(workerId);
        this.ready([{ workerId, endpointId }]);
      }
    }
  }

  /** Moves the GPU memory of a worker, and then follows its latest desired state. */
  async #move(move: Move, worker: { workerId: string; endpointId: string }): Promise<void> {
    const report = await this.moves.run(move, worker, this.#options);
    this.#frozen[report.state === WorkerState.FROZEN ? 'add' : 'delete'](worker.workerId);
    if (report.state === WorkerState.UNHEALTHY) this.#known.delete(worker.workerId);
    this.send({ workers: [report] });
    if (report.state !== WorkerState.UNHEALTHY) this.#freezeAndWake();
  }

  /** Stops draining workers that hold nothing. */
  #stopDrained(): void {
    for (const { workerId, desired } of this.desired) {
      if (desired === DesiredState.DRAIN && this.#known.has(workerId) && (this.#held.get(workerId)?.size ?? 0) === 0)
        this.#stopped(workerId);
    }
  }

  #stopped(workerId: string): void {
    const endpointId = this.#known.get(workerId) ?? '';
    this.#known.delete(workerId);
    this.#frozen.delete(workerId);
    this.moves.offloaded.delete(workerId);
    this.#held.delete(workerId);
    this.send({ workers: [{ workerId, endpointId, state: WorkerState.STOPPED }] });
  }
}
