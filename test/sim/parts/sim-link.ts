/**
 * The session of a simulated machine with a replica. Messages keep their order and take their time; those of a link
 * that is cut may still arrive, even after the hello of the next one. A silent link delivers nothing, and neither end
 * is told.
 */
import { Lease } from '@slipway/gpu-agent/session/lease';
import type { SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimReplica } from './replica.ts';

/** A message to send. */
type AgentMessage = Parameters<typeof SessionRequest.fromPartial>[0];

interface SimLinkOptions {
  world: World;
  /** The agent's process. */
  life: Being;
  replica: SimReplica;
  receive(message: SessionResponse): void;
  /** The link has ended. */
  onEnd(): void;
}

const DELAY_MS = { least: 0.2, usual: 3, most: 400 };
/** One of so many messages takes long. */
const SLOW_SHARE = 0.01;

export class SimLink {
  readonly #options: SimLinkOptions;
  readonly #session;
  isOpen = true;
  isSilent = false;
  #isPaused = false;
  #held: SessionRequest[] = [];
  #lastToCoreMs = 0;
  #lastToAgentMs = 0;

  constructor(options: SimLinkOptions) {
    this.#options = options;
    const { replica } = options;
    this.#session = replica.openSession({
      write: (message, left) => this.#toAgent(message, left),
      pause: () => {
        this.#isPaused = true;
      },
      resume: () => {
        this.#isPaused = false;
        for (const message of this.#held.splice(0)) this.#deliver(message);
      },
      end: () => this.#later('agent', options.life, () => this.#close()),
    });
  }

  get replica(): SimReplica {
    return this.#options.replica;
  }

  /** Sends a message as it goes over the wire. */
  send(message: AgentMessage): void {
    if (!this.isOpen || this.isSilent) return;
    const sent = SessionRequest.decode(SessionRequest.encode(SessionRequest.fromPartial(message)).finish());
    this.#later('core', this.replica, () => {
      if (!this.isSilent) this.#deliver(sent);
    });
  }

  /** Breaks the link. Each end notices after a delay of its own. */
  cut(): void {
    if (!this.isOpen) return;
    if (!this.isSilent) this.#later('core', this.replica, () => this.#session.gone());
    this.#close();
  }

  #deliver(message: SessionRequest): void {
    if (this.#isPaused) this.#held.push(message);
    else this.#session.receive(message);
  }

  #toAgent(message: SessionResponse, left: () => void): void {
    this.#later('agent', this.#options.life, () => {
      if (this.isOpen && !this.isSilent) this.#options.receive(message);
    });
    this.#options.world.after(DELAY_MS.least, this.replica, left);
  }

  #close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#options.onEnd();
  }

  /** Calls `run` after a delay, and after everything that went the same way before. */
  #later(to: 'core' | 'agent', being: Being, run: () => void): void {
    const { world } = this.#options;
    const ms = world.between(DELAY_MS.least, world.chance(SLOW_SHARE) ? DELAY_MS.most : DELAY_MS.usual);
    const lastMs = to === 'core' ? this.#lastToCoreMs : this.#lastToAgentMs;
    const atMs = Math.max(world.nowMs + ms, lastMs);
    if (to === 'core') this.#lastToCoreMs = atMs;
    else this.#lastToAgentMs = atMs;
    world.after(atMs - world.nowMs, being, run);
  }
}

/** Keeps the lease of an agent's process: the agent's own code, in virtual time. */
export class SimLease {
  readonly #world: World;
  readonly #life: Being;
  readonly #lease: Lease;
  #sequence = 0;

  constructor(world: World, life: Being, onExpired: () => void) {
    this.#world = world;
    this.#life = life;
    this.#lease = new Lease({ clock: world.clockOf(life), onExpired });
  }

  /** Begins with a new session. */
  begin(): void {
    this.#lease.beginSession();
    this.#sequence = 0;
  }

  /** Handles what core says of the lease. */
  receive(message: SessionResponse, link: SimLink): void {
    if (message.welcome) {
      this.#lease.setLength(message.welcome.leaseMs);
      this.#beat(link, message.welcome.heartbeatPeriodMs);
    }
    if (message.heartbeat) this.#lease.answered(message.heartbeat.sequence);
  }

  #beat(link: SimLink, periodMs: number): void {
    if (!link.isOpen) return;
    this.#sequence += 1;
    this.#lease.sent(this.#sequence);
    link.send({ heartbeat: { sequence: this.#sequence } });
    this.#world.after(periodMs, this.#life, () => this.#beat(link, periodMs));
  }
}
