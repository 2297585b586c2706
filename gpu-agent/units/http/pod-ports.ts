/** Where others reach the http ports of a pod: at its own address, through ports of this host, or through tunnels. */

import { TUNNEL_ADDRESS } from '@slipway/kit/net/tunnel';
import type { PodPort, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { FreePorts } from './free-ports.ts';
import { Relay } from './relay.ts';

/** Ports that core is told of (agent_service.proto). */
const PORTS_MAX = 20;

/** Always the same: it is compared. */
const NONE: PodPort[] = [];

/** How others reach this machine. */
export interface HttpAddresses {
  /** Host by which they do, containers through a port of the host's; empty: as their executor says. */
  advertiseHost: string;
  /** They do through tunnels only. */
  tunnels: boolean;
  ports: FreePorts;
}

/** The http ports that a spec names. */
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

  /** `onChanged`: they are others than before. */
  constructor(reach: HttpAddresses, onChanged: () => void) {
    this.#reach = reach;
    this.#onChanged = onChanged;
  }

  /** For core. */
  get shown(): PodPort[] {
    return this.#shown;
  }

  /** `host`: where the pod is seen from this host; undefined or empty: nowhere, or not yet. Called often. */
  look(host: string | undefined, spec: WorkerSpec | undefined): void {
    const now = host ?? '';
    if (now === this.#host) return;
    for (const relay of this.#relays.splice(0)) relay.close();
    this.#host = now;
    this.#shown = NONE;
    if (now !== '' && spec) void this.#open(now, spec);
  }

  /** Never rejects. */
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
