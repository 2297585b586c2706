/**
 * Ports of this host at which clients reach the TCP ports of pods, for instance SSH. A pod gets the same ports again
 * after a restart, of itself or of the agent, while they are free.
 */
import type { EnvReader } from '@slipway/kit/host/env';
import { isPortFree } from './free-ports.ts';
import type { PortSource } from './relay.ts';

const RANGE_DEFAULT = '10000-19999';
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Settings of the published TCP ports. Part of config.ts. */
export interface PublicPortSettings {
  /**
   * Host name or address at which clients reach this machine. SLIPWAY_PUBLIC_HOST, default empty: TCP ports of pods are
   * not published.
   */
  publicHost: string;
  /** First and last port for them. SLIPWAY_PUBLIC_PORTS, default 10000-19999. */
  publicPorts: readonly [first: number, last: number];
}

/** Reads the settings. */
export function readPublicPorts(reader: EnvReader): PublicPortSettings {
  return { publicHost: readHost(reader), publicPorts: readRange(reader) };
}

function readHost(reader: EnvReader): string {
  const host = reader.text('SLIPWAY_PUBLIC_HOST', '').replace(/^\[(.*)\]$/, '$1');
  if (!/^[\w.:-]{0,253}$/.test(host) || /^[\w.-]+:\d+$/.test(host))
    reader.fault(
      `SLIPWAY_PUBLIC_HOST is ${JSON.stringify(host)}, but must be a host name or an address without a port`,
    );
  return host;
}

function readRange(reader: EnvReader): PublicPortSettings['publicPorts'] {
  const text = reader.text('SLIPWAY_PUBLIC_PORTS', RANGE_DEFAULT);
  const [first = 0, last = 0] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).slice(1).map(Number);
  if (first < 1_024 || first > last || last > 65_535)
    reader.fault(
      `SLIPWAY_PUBLIC_PORTS is ${JSON.stringify(text)}, but must be a range within 1024-65535, like ${RANGE_DEFAULT}`,
    );
  return [first, last];
}

export class PublicPorts {
  /** Host that clients are given. Empty: nothing is published. */
  readonly host: string;
  readonly #first: number;
  readonly #count: number;
  readonly #isFree: (port: number) => Promise<boolean>;
  readonly #taken = new Set<number>();

  constructor({ publicHost, publicPorts: [first, last] }: PublicPortSettings, isFree = isPortFree) {
    this.host = publicHost;
    this.#first = first;
    this.#count = last - first + 1;
    this.#isFree = isFree;
  }

  /** Address to listen at. `undefined`: all addresses. */
  get listenHost(): string | undefined {
    return LOOPBACK.test(this.host) ? this.host : undefined;
  }

  /** Returns the source of ports for one port of a pod, which begins at the same number for the same `key`. */
  sourceOf(key: string): PortSource {
    let next = hashOf(key) % this.#count;
    return {
      take: async () => {
        for (let tries = 0; tries < this.#count; tries += 1) {
          const port = this.#first + next;
          next = (next + 1) % this.#count;
          if (this.#taken.has(port)) continue;
          this.#taken.add(port);
          if (await this.#isFree(port)) return port;
          this.#taken.delete(port);
        }
        throw new Error(`no port from ${this.#first} to ${this.#first + this.#count - 1} is free`);
      },
      give: (port) => void this.#taken.delete(port),
    };
  }
}

/** Returns the FNV-1a hash of a text, 32 bits: short texts that differ in one character lie far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
