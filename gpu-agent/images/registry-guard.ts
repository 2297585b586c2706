/**
 * Rejects registries with addresses outside public networks. The engine connects to them from the host's own network,
 * past the firewall of containers, so an image name could reach the programs of this host and of the networks around
 * it. The operator lists the allowed ones.
 */
import { lookup } from 'node:dns/promises';
import { isPrivateAddress } from '@slipway/kit/net/private-address';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import { hostOf, isPrivateByName, mayBePrivate } from '@slipway/kit/net/private-registries';
import { PrepareError } from './prepare-error.ts';

/** Returns the addresses of a host name. Rejects if it has none. */
type Resolve = (host: string) => Promise<string[]>;

const resolveByHost: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export class RegistryGuard {
  readonly #allowed: PrivateRegistries;
  readonly #resolve: Resolve;

  /** `resolve`: default as this host resolves names. */
  constructor(allowed: PrivateRegistries, resolve = resolveByHost) {
    this.#allowed = allowed;
    this.#resolve = resolve;
  }

  /**
   * Resolves if an image's registry may be contacted. Rejects with PrepareError REFUSED otherwise. The text is the same
   * whatever is at the address: otherwise image names would reveal what listens where.
   */
  async check(image: string, registry: string): Promise<void> {
    if (mayBePrivate(this.#allowed, registry)) return;
    if (isPrivateByName(registry) || (await this.#addressesOf(hostOf(registry))).some(isPrivateAddress)) {
      throw new PrepareError(
        'REFUSED',
        `${image} is not pulled: its registry has an address of a private network. The machine's operator can ` +
          'name it in SLIPWAY_PRIVATE_REGISTRIES',
      );
    }
  }

  /**
   * Returns the addresses of a host; empty if it has none: the engine may know a mirror or a proxy for it, or reports
   * the error.
   */
  #addressesOf(host: string): Promise<string[]> {
    return this.#resolve(host).catch(() => []);
  }
}
