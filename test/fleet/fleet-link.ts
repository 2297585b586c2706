/**
 * The session of a simulated machine with core, like an agent's: a lease, heartbeats, and a new session whenever one
 * ends.
 */

import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { reconnectMs } from '@slipway/gpu-agent/session/connect-loop';
import { Lease } from '@slipway/gpu-agent/session/lease';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { Timer } from '@slipway/kit/time/clock';
import { systemClock } from '@slipway/kit/time/clock';
import type { SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient, SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { FleetMachineOptions } from './fleet-worker.ts';

/** Errors for which core has no cause. */
const REFUSALS = [status.INVALID_ARGUMENT, status.PERMISSION_DENIED, status.UNAUTHENTICATED, status.INTERNAL];

/** A message to send. */
type Message = Parameters<typeof SessionRequest.fromPartial>[0];

/** Reports of its machine. */
export interface FleetLinkParts {
  options: FleetMachineOptions;
  /** Returns the state when a session begins. */
  hello(): NonNullable<Message['hello']>;
  receive(message: SessionResponse): void;
  /** Called when its lease expired: core may assign its work elsewhere, so the machine gives it up first. */
  onExpired(): void;
}

export class FleetLink {
  readonly #parts: FleetLinkParts;
  readonly #timers = new Set<Timer>();
  readonly #lease: Lease;
  #stream: ClientDuplexStream<SessionRequest, SessionResponse> | undefined;
  #client: AgentServiceClient | undefined;
  #heartbeat: Timer | undefined;
  #sequence = 0;
  #failures = 0;
  #cut = false;
  #over = false;
  /** Number of attempted sessions. */
  sessions = 0;

  constructor(parts: FleetLinkParts) {
    this.#parts = parts;
    this.#lease = new Lease({
      clock: systemClock,
      // A session that continues learns by a new hello that nothing is left.
      onExpired: () => {
        parts.onExpired();
        if (this.#stream) this.#ended(this.#stream);
      },
    });
  }

  get connected(): boolean {
    return this.#stream !== undefined && this.#heartbeat !== undefined;
  }

  /** Opens a session, and a new one whenever it ends. */
  connect(): void {
    if (this.#over || this.#cut || this.#stream) return;
    const {
      options: { id, agentKey, addresses, random, onFault },
      hello,
    } = this.#parts;
    this.#client = systemTransport.openClient(AgentServiceClient, random.one(addresses()));
    const stream = this.#client.session(callMetadata(agentKey));
    this.#stream = stream;
    this.sessions += 1;
    this.#lease.beginSession();
    stream.on('data', (message: SessionResponse) => {
      if (this.#stream === stream) this.#receive(message);
    });
    stream.on('error', (error: ServiceError) => {
      if (REFUSALS.includes(error.code)) onFault(`${id} was refused: ${error.details}`);
      this.#ended(stream);
    });
    stream.on('end', () => this.#ended(stream));
    this.send({ hello: hello() });
  }

  /** Cuts the network for a while. */
  cut(ms: number): void {
    this.#cut = true;
    this.#drop();
    this.after(ms, () => {
      this.#cut = false;
      this.connect();
    });
  }

  stop(): void {
    this.#over = true;
    this.#lease.close();
    this.#drop();
    for (const timer of this.#timers) timer.cancel();
  }

  /** Sends a message, which is lost without a session. */
  send(message: Message): void {
    this.#stream?.write(SessionRequest.fromPartial(message));
  }

  /** Runs something later, unless it was stopped before. */
  after(ms: number, what: () => void): Timer {
    const timer = systemClock.after(ms, () => {
      this.#timers.delete(timer);
      what();
    });
    this.#timers.add(timer);
    return timer;
  }

  #receive(message: SessionResponse): void {
    if (message.welcome) {
      this.#failures = 0;
      this.#lease.setLength(message.welcome.leaseMs);
      this.#beat(message.welcome.heartbeatPeriodMs);
    }
    if (message.heartbeat) this.#lease.answered(message.heartbeat.sequence);
    this.#parts.receive(message);
  }

  #beat(periodMs: number): void {
    this.#lease.sent(++this.#sequence);
    this.send({ heartbeat: { sequence: this.#sequence } });
    this.#heartbeat = this.after(periodMs, () => this.#beat(periodMs));
  }

  #ended(stream: unknown): void {
    if (this.#stream !== stream) return;
    this.#drop();
    this.#failures += 1;
    this.after(reconnectMs(this.#failures, this.#parts.options.random), () => this.connect());
  }

  #drop(): void {
    this.#heartbeat?.cancel();
    this.#heartbeat = undefined;
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#client?.close();
  }
}
