/** Records in the database that this replica runs, and reads which others do. */
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';

/** Host that stands for all addresses of a machine. */
const ANY_HOST = /^(?:0\.0\.0\.0|\[::\]):/;

interface ReplicaRegistryOptions {
  replicas: Stores['replicas'];
  /** Returns the address at which other replicas reach this one. */
  replicaAddress(): string;
  /** Period in milliseconds of its records. */
  periodMs: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class ReplicaRegistry extends LoopService {
  readonly #options: ReplicaRegistryOptions;
  #addresses: readonly string[] = [];

  constructor(options: ReplicaRegistryOptions) {
    super({ ...options, name: 'replica registry' });
    this.#options = options;
  }

  /** Address of this replica. Empty: it listens on all addresses, and none is named (SLIPWAY_CORE_ADVERTISE). */
  get ownAddress(): string {
    const address = this.#options.replicaAddress();
    return ANY_HOST.test(address.replace(/^grpcs:\/\//, '')) ? '' : address;
  }

  /** Addresses of all replicas as of the last pass. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Removes this replica from the lists that callers get from now on. */
  protected override async onStop(): Promise<void> {
    await super.onStop();
    this.#addresses = this.#addresses.filter((address) => address !== this.ownAddress);
    await this.#options.replicas
      .leave(this.ownAddress)
      .catch((error: unknown) => this.#options.logger.debug({ err: error }, 'the replica stays listed for a while'));
  }

  protected override async pass(): Promise<void> {
    const { replicas } = this.#options;
    this.#addresses = await (this.ownAddress === '' ? replicas.list() : replicas.beat(this.ownAddress));
  }
}
