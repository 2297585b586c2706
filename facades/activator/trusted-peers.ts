/**
 * Decides which X-Forwarded-* headers are trusted: those of an edge with the edge key, and of the proxies that the
 * operator has configured. They are removed from all other requests.
 */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { ACTIVATION_HEADER, EDGE_HEADER, isEdgeText, readActivation } from '@slipway/kit/net/activation';
import { parseNetwork } from '@slipway/kit/net/network';

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'x-real-ip'];

export class TrustedPeers {
  readonly #edgeKeys: EdgeKeys;
  readonly #proxies = new BlockList();

  /** `proxies`: addresses and networks that parseNetwork accepts. */
  constructor(edgeKeys: EdgeKeys, proxies: readonly string[]) {
    this.#edgeKeys = edgeKeys;
    for (const { address, bits, family } of proxies.map((text) => parseNetwork(text)!))
      this.#proxies.addSubnet(address, bits, family);
  }

  /** Strips forwarded headers unless the peer is trusted, and says so where TLS ends here. */
  clean(request: IncomingMessage): void {
    if (!this.isFromEdge(request) && !this.isProxy(request.socket.remoteAddress ?? ''))
      for (const name of FORWARDED) delete request.headers[name];
    if ((request.socket as Partial<TLSSocket>).encrypted) request.headers['x-forwarded-proto'] ??= 'https';
  }

  /**
   * Returns the client's address: the last one in X-Forwarded-For that is no trusted proxy, because entries before it
   * may be forged. Call `clean` first.
   */
  clientOf({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    const seen = [headers['x-forwarded-for'] ?? []]
      .flat()
      .join(',')
      .split(',')
      .map((address) => address.trim())
      .filter((address) => isIP(address) !== 0);
    return seen.findLast((address) => !this.isProxy(address)) ?? seen[0] ?? socket.remoteAddress ?? '';
  }

  /** Returns whether an edge proves by its key that the request comes from it. */
  isFromEdge({ headers }: IncomingMessage): boolean {
    const { [EDGE_HEADER]: edgeText, [ACTIVATION_HEADER]: activation } = headers;
    if (typeof edgeText === 'string' && isEdgeText(this.#edgeKeys, edgeText)) return true;
    return typeof activation === 'string' && readActivation(this.#edgeKeys, activation) !== undefined;
  }

  /** Returns whether the operator has named the address as a proxy. */
  isProxy(address: string): boolean {
    const family = isIP(address);
    // BlockList matches IPv4-mapped IPv6 addresses against IPv4 networks too.
    return family !== 0 && this.#proxies.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }
}
