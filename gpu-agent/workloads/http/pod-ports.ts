/** Addresses by which the HTTP and TCP ports of a pod are reached: its own address, ports of this host, or tunnels. */

import { TUNNEL_ADDRESS } from '@slipway/kit/net/tunnel';
import type { PodPort, WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { FreePorts } from './free-ports.ts';
import type { PublicPorts } from './public-ports.ts';
import { Relay } from './relay.ts';

/** Most ports of each protocol that are reported to core (agent_service.proto). */
const PORTS_MAX = 20;

/** The empty list. Always the same object, because lists are compared by identity. */
const NONE: PodPort[] = [];

/** How other machines reach this machine. */
interface HttpAddresses {
  /**
   * Host by which they reach it; containers are reached through a port of the host. Empty: the address that the
   * executor reports.
   */
  advertiseHost: string;
  /** They reach it through tunnels only. */
  tunnels: boolean;
  ports: FreePorts;
}

/** How facades, edges and clients reach the ports of pods. */
export interface PodAddresses extends HttpAddresses {
  /** Where clients reach TCP ports. */
  publicPorts: PublicPorts;
}

/** A port that can be reached, with the relay that leads to it. */
interface OpenPort extends PodPort {
  relay?: Relay;
}

/** Makes a port of a pod reachable. `host`: the pod's address as seen from this host. Rejects if it cannot be. */
export type OpenPodPort = (host: string, port: number, spec: WorkerSpec) => Promise<OpenPort>;

/** Returns the HTTP ports that a spec names. */
export function httpPorts(spec: Pick<WorkerSpec, 'ports'> | undefined): number[] {
  return portsOf(spec, /^\d{1,5}\/http$/);
}

/**
 * Returns the TCP ports to publish. None for a command: it shares its ports with all programs of the host, so that a
 * tenant could publish another program's port.
 */
export function tcpPorts(spec: Pick<WorkerSpec, 'ports' | 'imageName'> | undefined): number[] {
  return spec?.imageName ? portsOf(spec, /^\d{1,5}\/tcp$/) : [];
}

function portsOf(spec: Pick<WorkerSpec, 'ports'> | undefined, form: RegExp): number[] {
  return (spec?.ports ?? [])
    .flatMap((text) => (form.test(text) ? [Number.parseInt(text, 10)] : []))
    .slice(0, PORTS_MAX);
}

/** Opens ports for facades and edges. */
export function forFacades({ advertiseHost, tunnels, ports }: HttpAddresses): OpenPodPort {
  return async (host, port, spec) => {
    if (tunnels) return { port, address: TUNNEL_ADDRESS };
    const isElsewhere = advertiseHost !== '' && spec.imageName !== '';
    const relay = isElsewhere ? await Relay.open({ host, port }, ports) : undefined;
    return openPort(port, advertiseHost || host, relay?.port ?? port, relay);
  };
}

/** Opens ports for clients, of the pod with this id. */
export function forClients(ports: PublicPorts, podId: string): OpenPodPort {
  return async (host, port) => {
    const relay = await Relay.open({ host, port }, ports.sourceOf(`${podId}/${port}`), ports.listenHost);
    return openPort(port, ports.host, relay.port, relay);
  };
}

function openPort(port: number, host: string, reached: number, relay: Relay | undefined): OpenPort {
  return { port, address: `${host.includes(':') ? `[${host}]` : host}:${reached}`, ...(relay ? { relay } : {}) };
}

/** Dependencies of the ports of a pod. */
interface PodPortsOptions {
  /** Returns the ports of a spec. */
  named(spec: WorkerSpec): number[];
  open: OpenPodPort;
  /** Called when the ports to report have changed. */
  onChanged(): void;
  /** Called for a port that could not be opened. */
  onFailed(port: number, error: unknown): void;
}

export class PodPorts {
  readonly #options: PodPortsOptions;
  #host = '';
  #relays: Relay[] = [];
  #shown = NONE;
  /** Number of the latest update. */
  #updates = 0;

  constructor(options: PodPortsOptions) {
    this.#options = options;
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
    this.#updates += 1;
    this.#shown = NONE;
    if (now !== '' && spec) void this.#open(now, spec);
  }

  /** Opens the ports. Never rejects. */
  async #open(host: string, spec: WorkerSpec): Promise<void> {
    const { named, open, onChanged, onFailed } = this.#options;
    const update = this.#updates;
    const opened = await Promise.all(
      named(spec).map((port) => open(host, port, spec).catch((error) => void onFailed(port, error))),
    );
    const relays = opened.flatMap((one) => one?.relay ?? []);
    // The pod was restarted meanwhile, perhaps at the same address.
    if (this.#updates !== update) return relays.forEach((relay) => relay.close());
    this.#relays = relays;
    this.#shown = opened.flatMap((one) => (one ? [{ port: one.port, address: one.address }] : []));
    if (this.#shown.length > 0) onChanged();
  }
}
