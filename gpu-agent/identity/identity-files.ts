/**
 * Files by which a machine that joined with a token proves who it is, in the folder `identity` of the agent's data
 * folder. They are read again for each connection. Any program with these files can act as this machine.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsFiles } from '@slipway/kit/net/tls';

/** Facts about the joining, beside key and certificates. */
interface IdentityFacts {
  /** Id of the token that let the machine in. */
  tokenId: string;
  pool: string;
  /** Locations of the token. */
  locations: string[];
  tunnelKey: string;
}

/** Start of the location that a machine has by its pool. */
const POOL_PREFIX = 'pool:';
/** Locations are listed with commas. */
const LOCATION = /^[^\s,]+$/;

export class IdentityFiles {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'identity');
  }

  /** True if the machine has joined. */
  get exists(): boolean {
    return existsSync(this.#path('identity.json'));
  }

  /** Facts of the joining. Throws if the machine has not joined. */
  get facts(): IdentityFacts {
    return JSON.parse(readFileSync(this.#path('identity.json'), 'utf8')) as IdentityFacts;
  }

  /** Pool of the token that let the machine in. Empty: none. */
  get pool(): string {
    return this.exists ? this.facts.pool : '';
  }

  /**
   * Returns where the machine is. A machine that names no location has those of the token that let it in. It is also at
   * `pool:NAME` if that token has a pool whose name is a word.
   */
  locations(named: readonly string[]): string[] {
    if (!this.exists) return [...named];
    const { pool, locations } = this.facts;
    return [...(named.length > 0 ? named : locations), ...(LOCATION.test(pool) ? [`${POOL_PREFIX}${pool}`] : [])];
  }

  /** The certificate in PEM. */
  get certificate(): string {
    return readFileSync(this.#path('certificate.pem'), 'utf8');
  }

  /** Returns the files for TLS. `trust`: used where core shows a certificate of the operator's. */
  tls(trust: TlsFiles, isSystem: boolean): TlsFiles {
    const own = { certFile: this.#path('certificate.pem'), certKeyFile: this.#path('key.pem') };
    return isSystem ? { ...trust, ...own } : { caFile: this.#path('authority.pem'), ...own };
  }

  /** True if the certificate of core is the operator's. */
  get isSystem(): boolean {
    return !existsSync(this.#path('authority.pem'));
  }

  /**
   * Returns the private key in PEM. The first time, or if `renew`, it is what `create` returns. With a renewed key the
   * machine has not joined: its certificate is that of the previous key, and no connection could use the two.
   */
  key(create: () => string, renew = false): string {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (renew) rmSync(this.#path('identity.json'), { force: true });
    if (renew || !existsSync(this.#path('key.pem'))) this.#write('key.pem', create());
    return readFileSync(this.#path('key.pem'), 'utf8');
  }

  /** Stores a certificate. */
  storeCertificate(certificate: string): void {
    this.#write('certificate.pem', certificate);
  }

  /** Stores everything that a machine gets when it joins. The facts come last: they say that the rest is there. */
  store(certificate: string, authority: string, facts: IdentityFacts): void {
    if (authority !== '') this.#write('authority.pem', authority);
    this.storeCertificate(certificate);
    this.storeFacts(facts);
  }

  /** Authorities in PEM that the machine trusts. Empty: core shows a certificate of the operator's. */
  get authorities(): string {
    return this.isSystem ? '' : readFileSync(this.#path('authority.pem'), 'utf8');
  }

  /** Stores the authorities to trust from now on. Empty: as before. */
  storeAuthorities(authorities: string): void {
    if (authorities !== '' && !this.isSystem) this.#write('authority.pem', authorities);
  }

  storeFacts(facts: IdentityFacts): void {
    this.#write('identity.json', JSON.stringify(facts, null, 2));
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #write(name: string, content: string): void {
    writeFileSync(`${this.#path(name)}.new`, content, { mode: 0o600, flush: true });
    renameSync(`${this.#path(name)}.new`, this.#path(name));
  }
}
