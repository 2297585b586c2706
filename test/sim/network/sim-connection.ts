/**
 * A connection of the network in memory: carries headers, encoded messages and statuses of calls, in order. Another
 * connection may be faster. It can be cut, and become half-open: then only the pings of its ends notice that.
 */
import type { Metadata, Server, status as Status } from '@grpc/grpc-js';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';

/** One end of a connection. */
export type End = 'client' | 'server';

/** A server that listens. */
export interface Listener {
  server: Server;
  being: Being;
}

/** The client's end of a call, as its connection and the server's end see it. */
export interface ConnectedCall {
  /** The server's headers have arrived. */
  opened(metadata: Metadata): void;
  /** A message of the server has arrived. */
  arrived(bytes: Buffer): void;
  /** The call is over. */
  ended(code: Status, details: string, metadata?: Metadata): void;
  /** An end has noticed that the connection is gone. */
  broken(end: End): void;
}

/** Delays of a message in milliseconds, and how long a connection attempt without an answer lasts. */
export const CONNECTION_MS = { least: 0.2, usual: 3, most: 400, mostToOpen: 20_000 };
/** One of so many messages takes long. */
const SLOW_SHARE = 0.01;

export class SimConnection {
  readonly client: Being;
  readonly listener: Listener;
  readonly calls = new Set<ConnectedCall>();
  /** Called when the client's end has noticed that the connection is gone. */
  onBroken: () => void = () => undefined;
  isSilent = false;
  readonly #world: World;
  #isCut = false;
  readonly #lastMs = { client: 0, server: 0 };

  constructor(world: World, client: Being, listener: Listener) {
    this.#world = world;
    this.client = client;
    this.listener = listener;
  }

  /** True if it passes something. */
  get isOpen(): boolean {
    return !this.#isCut && !this.isSilent;
  }

  /** Runs something at one end, after a delay and after everything that went the same way before. */
  send(to: End, run: () => void): void {
    if (!this.isOpen) return;
    this.#inOrder(to, () => {
      if (!this.isSilent) run();
    });
  }

  /** Runs something at the sender's end as soon as the system has taken what was sent. */
  taken(end: End, run: () => void): void {
    this.#world.after(CONNECTION_MS.least, this.#at(end), run);
  }

  /** Breaks it. What is under way may still arrive. Each end notices after a delay. */
  cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    if (this.isSilent) return;
    for (const end of ['client', 'server'] as const) this.#inOrder(end, () => this.#broken(end));
  }

  /** Makes nothing pass any more, and no end is told: its pings are not answered. */
  silence(): void {
    if (!this.isOpen) return;
    this.isSilent = true;
    const { pingMs, pingAnswerMs } = LINK_TIMERS;
    for (const end of ['client', 'server'] as const)
      this.#world.after(this.#world.between(pingMs, pingMs + pingAnswerMs), this.#at(end), () => this.#broken(end));
  }

  #broken(end: End): void {
    this.#isCut = true;
    for (const call of this.calls) call.broken(end);
    if (end === 'client') this.onBroken();
  }

  #at(end: End): Being {
    return end === 'client' ? this.client : this.listener.being;
  }

  #inOrder(to: End, run: () => void): void {
    const world = this.#world;
    const ms = world.between(CONNECTION_MS.least, world.chance(SLOW_SHARE) ? CONNECTION_MS.most : CONNECTION_MS.usual);
    this.#lastMs[to] = Math.max(world.nowMs + ms, this.#lastMs[to]);
    world.after(this.#lastMs[to] - world.nowMs, this.#at(to), run);
  }
}
