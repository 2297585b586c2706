/**
 * Authorities by which Envoy trusts core: from a file, from this machine, or the ones core itself names after
 * the digest of one was checked. They are followed while the edge runs, so that a new authority needs no restart.
 */
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { authorityFile } from '@slipway/kit/net/renewed-files';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { explainConnection, trustedHere } from '@slipway/kit/net/tls';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { EdgeConfig } from './config.ts';
import { coreAddresses } from './config.ts';
import { EdgeFault } from './edge-fault.ts';
import { readCoreTrust, writeCoreTrust } from './edge-files.ts';

/** Period of the check for other authorities, in milliseconds: once they are known, and before. */
const FOLLOW_MS = 30_000;
const FIRST_MS = 1_000;
/** Longest time for core's answer, in milliseconds. */
const ANSWER_MS = 3_000;

interface CoreAuthorityOptions {
  config: EdgeConfig;
  /** Loads what reaches core. Without digests nothing does, and its packages stay unread. */
  transport(): Promise<Transport>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Dependencies of reading the authorities. */
type AuthorityDeps = Pick<CoreAuthorityOptions, 'config' | 'transport' | 'clock'>;

/**
 * Returns the authorities in PEM. Throws EdgeFault: no core that can be trusted was reached, or the file is unusable.
 */
export async function coreAuthorities({ config, ...deps }: AuthorityDeps): Promise<string> {
  const { coreTls } = config;
  if (coreTls?.caDigests) return askCores(coreAddresses(config), coreTls, deps);
  if (!coreTls || coreTls.caFile === '') return trustedHere().toString();
  try {
    return authorityFile(coreTls.caFile).current().pem;
  } catch (error) {
    throw new EdgeFault(`The authority of core cannot be used (--core-ca): ${(error as Error).message}`);
  }
}

async function askCores(
  addresses: readonly string[],
  tls: TlsFiles,
  { transport, clock }: Pick<AuthorityDeps, 'transport' | 'clock'>,
): Promise<string> {
  const { callMetadata } = await import('@slipway/kit/net/channel');
  const { TlsSource } = await import('@slipway/kit/net/tls-source');
  const { JoinServiceClient } = await import('@slipway/proto/gen/slipway/v1/join_service');
  const [source, opened] = [new TlsSource(tls), await transport()];
  const ask = (address: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const client = opened.openClient(JoinServiceClient, address, { tls: source });
      client.listAuthorities({}, callMetadata(''), { deadline: clock.nowMs() + ANSWER_MS }, (error, answer) => {
        client.close();
        if (error) reject(new Error(explainConnection(error.details, address) ?? `${address}: ${error.details}`));
        else resolve(answer.authorities.map(({ certificate }) => certificate).join(''));
      });
    });
  try {
    return await Promise.any(addresses.map(ask));
  } catch (error) {
    const [first] = (error as AggregateError).errors as Error[];
    throw new EdgeFault(`Core was not reached by TLS (--core, --core-ca): ${first?.message}`);
  }
}

export class CoreAuthorityWatch extends LoopService {
  readonly #options: CoreAuthorityOptions;
  #known: string | undefined;
  #nextMs = 0;
  #fault: string | undefined;

  constructor(options: CoreAuthorityOptions) {
    super({ ...options, name: 'trust of core', periodMs: FIRST_MS });
    this.#options = options;
  }

  /**
   * Writes what Envoy is to trust from its start on. While core is away: what it trusted last, if that fits the
   * settings, else no authority. Throws EdgeFault if a file cannot be used.
   */
  async prepare(): Promise<void> {
    const { config, logger } = this.#options;
    if (!config.coreTls) return;
    try {
      this.#take(await this.#ask());
    } catch (error) {
      if (!config.coreTls.caDigests) throw error;
      this.#note(error as Error);
      const last = readCoreTrust(config);
      writeCoreTrust(config, last);
      if (last === undefined) logger.warn('Envoy trusts no core until one was reached');
    }
  }

  protected override async pass(): Promise<void> {
    const { config, clock } = this.#options;
    if (!config.coreTls || clock.monotonicMs() < this.#nextMs) return;
    try {
      this.#take(await this.#ask());
    } catch (error) {
      this.#note(error as Error);
    }
  }

  async #ask(): Promise<string> {
    const { clock } = this.#options;
    const authorities = await coreAuthorities(this.#options);
    this.#nextMs = clock.monotonicMs() + FOLLOW_MS;
    this.#fault = undefined;
    return authorities;
  }

  #take(authorities: string): void {
    const { config, logger } = this.#options;
    if (authorities === this.#known) return;
    writeCoreTrust(config, authorities);
    if (this.#known !== undefined) logger.info('other authorities of core are trusted');
    this.#known = authorities;
  }

  #note({ message }: Error): void {
    if (message !== this.#fault) this.#options.logger.warn({ cause: message }, 'the authorities of core were not read');
    this.#fault = message;
  }
}
