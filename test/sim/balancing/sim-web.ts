/** HTTP between facades or agents and workers: who listens where. Only connections are simulated, no requests. */
import type { SimMachine } from '../parts/machine.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { servers } from './worker-http.ts';

/** A host with workers that serve HTTP. */
export interface WebHost {
  /** The agent's process, which checks the health of workers. `undefined`: none runs. */
  readonly life: Being | undefined;
  /** Returns whether a worker serves HTTP at host:port. */
  serves(address: string): boolean;
  /** Its name on the network. */
  readonly address: string;
}

const HOP_MS = { least: 0.1, most: 1 };

export class SimWeb {
  readonly #world: World;
  readonly #hosts = new Map<string, WebHost>();
  #liar: SimMachine | undefined;

  constructor(world: World) {
    this.#world = world;
    servers.ask = (address) => this.#ask(address);
  }

  /** Adds a host, under its name. */
  add(host: WebHost): void {
    this.#hosts.set(host.address, host);
  }

  /** Adds a machine whose workers have names of their own. */
  addLiar(machine: SimMachine): void {
    this.#liar = machine;
  }

  /** Returns whether a worker serves HTTP at host:port. */
  serves(address: string): boolean {
    const isLiars = this.#liar?.workers.some((worker) => worker.address === address) ?? false;
    return isLiars || (this.#hostOf(address)?.serves(address) ?? false);
  }

  #hostOf(address: string): WebHost | undefined {
    return this.#hosts.get(address.split(':')[0]!);
  }

  /** Checks a worker's health for its agent. Never resolves if that dies meanwhile. */
  async #ask(address: string): Promise<boolean> {
    const life = this.#hostOf(address)?.life;
    if (!life) return new Promise(() => undefined);
    await this.#world.pause(this.#world.between(HOP_MS.least, HOP_MS.most), life);
    return this.serves(address);
  }
}
