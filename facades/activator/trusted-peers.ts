/**
 * Whose word on the client counts: X-Forwarded-* of a request are believed when an edge has shown that it has the edges' key, or when the other end of
 * the connection is one of the proxies that the operator has named. Of all others they are dropped, as anybody can write them.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { ACTIVATION_HEADER, EDGE_HEADER, isEdgeText, readActivation } from '../../proto/wire/activation.ts';
import { parseNetwork } from '../../proto/wire/network.ts';

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'x-real-ip'];

export class TrustedPeers {
  readonly #edgeKey: string;
  readonly #proxies = new BlockList();

  /** `proxies`: addresses and networks that parseNetwork understands. */
  constructor(edgeKey: string, proxies: readonly string[]) {
    this.#edgeKey = edgeKey;
    for (const { address, bits, family } of proxies.map((text) => parseNetwork(text)!)) this.#proxies.addSubnet(address, bits, family);
  }

  /** Takes out what only a proxy may say, unless a trusted one has. */
  clean(request: IncomingMessage): void {
    if (this.#trusts(request)) return;
    for (const name of FORWARDED) delete request.headers[name];
  }

  /**
   * The client's address. Each proxy adds behind the others whom it saw, so it is the last that is no proxy: what stands before it may be the client's
   * own invention. To be asked of a request that was cleaned.
   */
  clientOf({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    const seen = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').map((address) => address.trim()).filter((address) => isIP(address) !== 0);
    return seen.findLast((address) => !this.#isProxy(address)) ?? seen[0] ?? socket.remoteAddress ?? '';
  }

  #trusts({ headers, socket }: IncomingMessage): boolean {
    const { [EDGE_HEADER]: said, [ACTIVATION_HEADER]: activation } = headers;
    if (typeof said === 'string' && isEdgeText(this.#edgeKey, said)) return true;
    if (typeof activation === 'string' && readActivation(this.#edgeKey, activation)) return true;
    return this.#isProxy(socket.remoteAddress ?? '');
  }

  #isProxy(address: string): boolean {
    const family = isIP(address);
    // An IPv4 address that came in by IPv6 is looked for among those of IPv4 as well.
    return family !== 0 && this.#proxies.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }
}
