/** Addresses by which other machines reach the HTTP ports of a pod: its own address, ports of this host, or tunnels. */

import { TUNNEL_ADDRESS } from '@slipway/kit/net/tunnel';
import type { PodPort, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { FreePorts } from './free-ports.ts';
import { Relay } from './relay.ts';

/** Most ports of a pod that are reported to core (agent_service.proto). */
const PORTS_MAX = 20;

/** The empty list. Always the same object, because lists are compared by identity. */
const NONE: PodPort[] = [];

/** How other machines reach this machine. */
export interface HttpAddresses {
  /**
   * Host by which they reach it; containers are reached through a port of the host. Empty: the address that the
   * executor reports.
   */
  advertiseHost: string;
  /** They reach it through tunnels only. */
  tunnels: boolean;
  ports: FreePorts;
}

/** Returns the HTTP ports that a spec names. */
export function httpPorts(spec: Pick<WorkerSpec, 'ports'> | undefined): number[] {
  return (spec?.ports ?? [])
    .flatMap((text) => (/^\d{1,5}\/http$/.test(text) ? [Number.parseInt(text, 10)] : []))
    .slice(0, PORTS_MAX);
}

export class PodPorts {
  readonly #reach: HttpAddresses;
  readonly #onChanged: () => void;
  #host = '';
  #relays: Relay[] = [];
  #shown = NONE;

  /** `onChanged` is called when the ports to report have changed. */
  constructor(reach: HttpAddresses, onChanged: () => void) {
    this.#reach = reach;
    this.#onChanged = onChanged;
  }

  /** Ports to report to core. */
  get shown(): PodPort[] {
    return this.#shown;
  }

  /**
   * Updates the ports. `host`: the pod's address as seen from this host; `undefined` or empty if it has none, or none
   * yet. Called often.
   */
  update(host: string | undefined, spec: WorkerSpec | undefined): void {
    const now = host ?? '';
    if (now === this.#host) return;
    for (const relay of this.#relays.splice(0)) relay.close();
    this.#host = now;
    this.#shown = NONE;
    if (now !== '' && spec) void this.#open(now, spec);
  }

  /** Opens the ports. Never rejects. */
  async #open(host: string, spec: WorkerSpec): Promise<void> {
    const opened = await Promise.all(httpPorts(spec).map((port) => this.#one(host, port, spec).catch(() => undefined)));
    const relays = opened.flatMap((one) => one?.relay ?? []);
    if (this.#host !== host) return relays.forEach((relay) => relay.close());
    this.#relays = relays;
    this.#shown = opened.flatMap((one) => (one ? [{ port: one.port, address: one.address }] : []));
    if (this.#shown.length > 0) this.#onChanged();
  }

  async #one(host: string, port: number, spec: WorkerSpec): Promise<PodPort & { relay?: Relay }> {
    const { advertiseHost, tunnels, ports } = this.#reach;
    if (tunnels) return { port, address: TUNNEL_ADDRESS };
    const isElsewhere = advertiseHost !== '' && spec.imageName !== '';
    const relay = isElsewhere ? await Relay.open({ host, port }, ports) : undefined;
    const shown = advertiseHost || host;
    return {
      port,
      address: `${shown.includes(':') ? `[${shown}]` : shown}:${relay?.port ?? port}`,
      ...(relay ? { relay } : {}),
    };
  }
}
