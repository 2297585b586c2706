/** TLS of a gRPC server whose certificate may be replaced while it serves. Open connections continue. */
import type { ServerCredentials } from '@grpc/grpc-js';
import { experimental } from '@grpc/grpc-js';

/** Certificates of a server, in PEM. */
interface ServerCertificate {
  /** Chain, its own certificate first. */
  certificate: string;
  key: string;
  /** Authorities of clients that show a certificate. None has to show one. */
  clientAuthorities: string;
}

type Listener<Update> = (update: Update | null) => void;

/** Hands the certificate to the server, and each new one. */
class CurrentCertificate implements experimental.CertificateProvider {
  readonly #authorities = new Set<Listener<experimental.CaCertificateUpdate>>();
  readonly #identities = new Set<Listener<experimental.IdentityCertificateUpdate>>();
  #current: ServerCertificate;

  constructor(first: ServerCertificate) {
    this.#current = first;
  }

  set(next: ServerCertificate): void {
    this.#current = next;
    for (const listener of this.#authorities) listener(this.#authority());
    for (const listener of this.#identities) listener(this.#identity());
  }

  addCaCertificateListener(listener: Listener<experimental.CaCertificateUpdate>): void {
    this.#authorities.add(listener);
    // The server adds itself after its credentials: it would miss an update now.
    void Promise.resolve().then(() => listener(this.#authority()));
  }

  removeCaCertificateListener(listener: Listener<experimental.CaCertificateUpdate>): void {
    this.#authorities.delete(listener);
  }

  addIdentityCertificateListener(listener: Listener<experimental.IdentityCertificateUpdate>): void {
    this.#identities.add(listener);
    void Promise.resolve().then(() => listener(this.#identity()));
  }

  removeIdentityCertificateListener(listener: Listener<experimental.IdentityCertificateUpdate>): void {
    this.#identities.delete(listener);
  }

  #authority(): experimental.CaCertificateUpdate {
    return { caCertificate: Buffer.from(this.#current.clientAuthorities) };
  }

  #identity(): experimental.IdentityCertificateUpdate {
    return { certificate: Buffer.from(this.#current.certificate), privateKey: Buffer.from(this.#current.key) };
  }
}

export class ServerTls {
  readonly #current: CurrentCertificate;
  /** For all listeners of the server. */
  readonly credentials: ServerCredentials;

  constructor(first: ServerCertificate) {
    this.#current = new CurrentCertificate(first);
    this.credentials = experimental.createCertificateProviderServerCredentials(this.#current, this.#current, false);
  }

  /** Uses another certificate for connections from now on. */
  replace(next: ServerCertificate): void {
    this.#current.set(next);
  }
}
