/**
 * The certificates of a replica: the installation's authority, which all replicas share, and the certificate that this
 * one shows. The latter is the operator's, or one of the authority for as long as the replica runs; it is replaced in
 * time, and when the machine gets another address.
 */
import { X509Certificate } from 'node:crypto';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Validity } from '@slipway/kit/net/renewed-files';
import { certifiedFiles } from '@slipway/kit/net/renewed-files';
import { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CertificateLife, CertifiedKey } from '@slipway/kit/tls/authority';
import { Authority, createAuthority, DAY_MS, SERIAL_LENGTH } from '@slipway/kit/tls/authority';
import { digestOf, pinText } from '@slipway/kit/tls/pin';
import { ServerTls } from '@slipway/kit/tls/server-tls';
import type { Authority as AuthorityMessage } from '@slipway/proto/gen/slipway/v1/join_service';
import { AuthorityRole } from '@slipway/proto/gen/slipway/v1/join_service';
import type { CoreConfig } from '../config.ts';
import type { AuthorityRecord } from '../store/accounts/authority-store.ts';
import type { Stores } from '../store/storage.ts';
import { certificateNames, hostOf } from './server-names.ts';

/** Period of the check in milliseconds. */
const PERIOD_MS = 30_000;
/** Lifetime of a replica's certificate. It is replaced in the last third. */
const SERVER_DAYS = 90;
const NAME_LENGTH = 8;

interface CoreCertificatesOptions {
  config: Pick<CoreConfig, 'listen' | 'advertise' | 'tlsNames' | 'tlsCertFile' | 'tlsKeyFile'>;
  authorities: Pick<Stores['authorities'], 'claim' | 'read'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** An authority as others read of it. */
type ListedAuthority = AuthorityMessage & { expireTime: Date };

/** A certificate of the authority, and what must stay true of it. */
interface Issued extends CertifiedKey {
  /** Digest of the authority. */
  authority: string;
  names: readonly string[];
  validity: Validity;
}

export class CoreCertificates extends LoopService {
  readonly #options: CoreCertificatesOptions;
  readonly #files: ReturnType<typeof certifiedFiles> | undefined;
  /** The authority of the certificate that the replica shows. */
  #authority: Authority | undefined;
  #next: Authority | undefined;
  /** All replicas know the next one. */
  #isSettled = false;
  #previous: string | undefined;
  #issued: Issued | undefined;
  #shown = '';
  #server: ServerTls | undefined;
  #peers: TlsSource | undefined;
  #fault: string | undefined;

  constructor(options: CoreCertificatesOptions) {
    super({ ...options, name: 'certificates of core', periodMs: PERIOD_MS });
    this.#options = options;
    const { tlsCertFile, tlsKeyFile } = options.config;
    if (tlsCertFile !== '') this.#files = certifiedFiles(tlsCertFile, tlsKeyFile);
  }

  /** True if the replica speaks TLS somewhere. */
  get isUsed(): boolean {
    return this.#options.config.listen.some(({ secure }) => secure);
  }

  /** The authority. `undefined` where the replica speaks no TLS. */
  get authority(): Authority | undefined {
    return this.#authority;
  }

  /** Digest of the authority of what the replica shows. `undefined`: the operator's certificate, or no TLS. */
  get digest(): string | undefined {
    return this.#files ? undefined : this.#authority?.digest;
  }

  /** The authority that will follow. `undefined`: none. */
  get next(): Authority | undefined {
    return this.#next;
  }

  /** Whether all replicas know the next one. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Certificate of the authority before, in PEM. `undefined`: none is trusted any more. */
  get previous(): string | undefined {
    return this.#previous;
  }

  /** The authority that signs certificates of machines: the next one, once all replicas know it. */
  get signer(): Authority | undefined {
    return this.#isSettled ? (this.#next ?? this.#authority) : this.#authority;
  }

  /** Certificates in PEM of all authorities of the installation that are trusted. */
  get trusted(): string {
    return [this.#next?.certificate, this.#authority?.certificate, this.#previous].join('');
  }

  /** All authorities, also of the operator's certificate. Empty: no TLS. */
  get all(): ListedAuthority[] {
    const own: [string | undefined, AuthorityRole][] = [
      [this.#next?.certificate, AuthorityRole.NEXT],
      [this.#authority?.certificate, AuthorityRole.CURRENT],
      [this.#previous, AuthorityRole.PREVIOUS],
      ...certificatesOf(this.#files?.current().certificate ?? '').map((certificate): [string, AuthorityRole] => [
        certificate,
        AuthorityRole.OPERATOR,
      ]),
    ];
    return own.flatMap(([certificate, role]) => (certificate === undefined ? [] : this.#listed(certificate, role)));
  }

  #listed(certificate: string, role: AuthorityRole): ListedAuthority[] {
    const found = new X509Certificate(certificate);
    const digest = digestOf(found);
    const signs = digest === this.signer?.digest;
    return [{ certificate, digest, role, signs, expireTime: new Date(found.validTo) }];
  }

  /** Server side of TLS. `undefined` before the start, and without TLS. */
  get server(): ServerTls | undefined {
    return this.#server;
  }

  /** Client side for calls of other replicas, which have the same authority. */
  get peers(): TlsSource | undefined {
    return this.#peers;
  }

  /** For the watch over certificates. */
  get watched(): { more(): Readonly<Record<string, Validity>> } {
    return { more: () => this.#validity() };
  }

  /** Returns when the certificates end, by kind. */
  #validity(): Readonly<Record<string, Validity>> {
    if (!this.#authority) return {};
    const server = this.#files?.current().validity ?? this.#issued?.validity;
    return { installation: { fromMs: 0, toMs: this.#authority.endsAtMs }, ...(server && { server }) };
  }

  /** Returns what a certificate that is made now needs. */
  life(days: number): CertificateLife {
    const { clock, random } = this.#options;
    return { nowMs: clock.nowMs(), days, serial: random.bytes(SERIAL_LENGTH) };
  }

  /** Returns a new authority. */
  create(): CertifiedKey {
    const { clock, random } = this.#options;
    return createAuthority(`Slipway ${random.id(NAME_LENGTH)}`, clock.nowMs(), random.bytes(SERIAL_LENGTH));
  }

  /** Reads the authorities again, and shows what follows from them. */
  async refresh(): Promise<void> {
    const stored = this.isUsed ? await this.#options.authorities.read() : undefined;
    if (!stored) return;
    this.#take(stored);
    const next = this.#current();
    if (next.certificate + this.trusted === this.#shown) return;
    this.#show(next);
    this.#options.logger.info('a new certificate is in use');
  }

  #take({ current, next, isSettled, previous }: AuthorityRecord): void {
    if (current.certificate !== this.#authority?.certificate) this.#authority = new Authority(current);
    if (next?.certificate !== this.#next?.certificate) this.#next = next && new Authority(next);
    this.#isSettled = isSettled;
    this.#previous = previous;
  }

  protected override async onStart(): Promise<void> {
    if (!this.isUsed) return;
    const { authorities, logger } = this.#options;
    this.#take(await authorities.claim(() => this.create()));
    this.#show(this.#current());
    const { digest } = this;
    const trust = digest === undefined ? 'of the operator' : pinText(digest);
    logger.info({ authority: trust, names: this.#issued?.names }, 'core shows a certificate');
    await super.onStart();
  }

  protected override async pass(): Promise<void> {
    try {
      await this.refresh();
      this.#note(this.#files?.fault);
    } catch (error) {
      this.#note((error as Error).message);
    }
  }

  #note(fault: string | undefined): void {
    if (fault !== undefined && fault !== this.#fault)
      this.#options.logger.warn({ cause: fault }, 'the certificate cannot be replaced; the previous one stays');
    this.#fault = fault;
  }

  /** Returns the certificate to show now. */
  #current(): CertifiedKey {
    if (this.#files) return this.#files.current();
    const names = this.#names();
    const { clock } = this.#options;
    const isMissing = names.some((name) => !this.#issued?.names.includes(name));
    const isOld = (this.#issued?.validity.toMs ?? 0) - clock.nowMs() < (SERVER_DAYS * DAY_MS) / 3;
    const isOther = this.#issued?.authority !== this.#authority!.digest;
    if (!this.#issued || isMissing || isOld || isOther) this.#issued = this.#issue(names);
    return this.#issued;
  }

  #names(): string[] {
    const { listen, advertise, tlsNames } = this.#options.config;
    return certificateNames([...tlsNames, hostOf(advertise), ...listen.map(({ address }) => hostOf(address))]);
  }

  #issue(names: readonly string[]): Issued {
    const made = this.#authority!.issueServer(names, this.life(SERVER_DAYS));
    const { validFrom, validTo } = new X509Certificate(made.certificate);
    return {
      ...made,
      names,
      authority: this.#authority!.digest,
      validity: { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) },
    };
  }

  #show({ certificate, key }: CertifiedKey): void {
    const clientAuthorities = this.trusted;
    const shown = { certificate, key, clientAuthorities };
    if (this.#server) this.#server.replace(shown);
    else this.#server = new ServerTls(shown);
    // The operator's chain may end at an authority that is unknown here.
    this.#peers = new TlsSource(undefined, `${clientAuthorities}${certificate}`);
    this.#shown = certificate + clientAuthorities;
  }
}

/** Returns the authorities in a chain. */
function certificatesOf(chain: string): string[] {
  const all = chain.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----\n?/g) ?? [];
  return all.filter((certificate) => new X509Certificate(certificate).ca);
}
