/**
 * Refuses registries at addresses of no public network: the engine asks them from the host's own network, past the
 * firewall of containers, so that a name of an image would reach the programs of this host and of the networks around
 * it. The operator names those that may be asked.
 */
import { lookup } from 'node:dns/promises';
import { isPrivateAddress } from '@slipway/kit/net/private-address';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import { hostOf, isPrivateByName, mayBePrivate } from '@slipway/kit/net/private-registries';
import { PrepareError } from './prepare-error.ts';

/** Addresses of a host name. Rejects when it has none. */
type Resolve = (host: string) => Promise<string[]>;

const resolveByHost: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export class RegistryGuard {
  readonly #allowed: PrivateRegistries;
  readonly #resolve: Resolve;

  /** `resolve`: default as this host does. */
  constructor(allowed: PrivateRegistries, resolve = resolveByHost) {
    this.#allowed = allowed;
    this.#resolve = resolve;
  }

  /**
   * Resolves where the registry of an image may be asked. PrepareError REFUSED, with one text whatever is or is not at
   * its address: else names of images would tell what listens where.
   */
  async check(image: string, registry: string): Promise<void> {
    if (mayBePrivate(this.#allowed, registry)) return;
    if (isPrivateByName(registry) || (await this.#addressesOf(hostOf(registry))).some(isPrivateAddress)) {
      throw new PrepareError(
        'REFUSED',
        `${image} is not pulled: its registry has an address of a private network. The machine's operator can name it in ` +
          'SLIPWAY_PRIVATE_REGISTRIES',
      );
    }
  }

  /** None: the engine may know a mirror or a proxy for it, or says what is wrong. */
  #addressesOf(host: string): Promise<string[]> {
    return this.#resolve(host).catch(() => []);
  }
}
