/**
 * Certificates of a gRPC client. Their files are read for each handshake, so that renewed ones need no restart.
 */
import { createSecureContext } from 'node:tls';
import { ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Validity } from './renewed-files.ts';
import { authoritiesValidity, chainValidity, RenewedFiles, validities } from './renewed-files.ts';
import type { TlsFiles } from './tls.ts';
import { trustedHere } from './tls.ts';

/** Options of Node's TLS. */
interface TlsMaterial {
  ca: Buffer;
  cert?: Buffer;
  key?: Buffer;
}

interface Loaded {
  material: TlsMaterial;
  credentials: ChannelCredentials;
  validity: Readonly<Record<string, Validity>>;
}

const NONE: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };

export class TlsSource {
  readonly #files: RenewedFiles<Loaded>;

  /** Reads nothing yet. Default: the authorities that this machine trusts, and no certificate. */
  constructor(files: TlsFiles = NONE) {
    const names = [files.caFile, files.certFile, files.certKeyFile].filter((name) => name !== '');
    this.#files = new RenewedFiles(names, (texts) => load(files, texts));
  }

  /** Returns the material of the files as they are, or of the last good ones. Throws if they were never good. */
  material(): TlsMaterial {
    return this.#files.current().material;
  }

  /**
   * Returns credentials for one channel, which asks for `material` at each handshake. Throws if the files were never
   * good.
   */
  credentials(): ChannelCredentials {
    this.#files.current();
    return new RenewedCredentials(() => this.#files.current().credentials);
  }

  /**
   * Reads the files. Returns the validity of the certificates in use, by kind, and the fault of the files. For
   * CertificateWatch.
   */
  check(): { version: number; fault: string | undefined; validity: Readonly<Record<string, Validity>> } {
    const { validity } = this.#files.current();
    return { version: this.#files.version, fault: this.#files.fault, validity };
  }
}

function load({ caFile, certFile, certKeyFile }: TlsFiles, texts: readonly Buffer[]): Loaded {
  const left = [...texts];
  const authority = caFile === '' ? undefined : left.shift();
  const [cert, key] = left;
  const validity: Record<string, Validity> = {};
  if (authority) validity['authority'] = authoritiesValidity(validities(authority, caFile));
  if (cert) validity['client'] = chainValidity(validities(cert, certFile));
  const ca = authority ?? trustedHere();
  if (!cert || !key) return { material: { ca }, credentials: credentials.createSsl(ca), validity };
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new Error(`${certKeyFile} does not hold the private key of ${certFile}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return { material: { ca, cert, key }, credentials: credentials.createSsl(ca, key, cert), validity };
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Credentials that are asked for anew at each handshake: a channel outlives its certificates. */
class RenewedCredentials extends ChannelCredentials {
  readonly #latest: () => ChannelCredentials;

  constructor(latest: () => ChannelCredentials) {
    super();
    this.#latest = latest;
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(...parts: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
    const first = this.#latest()._createSecureConnector(...parts);
    return {
      connect: (socket) =>
        this.#latest()
          ._createSecureConnector(...parts)
          .connect(socket),
      waitForReady: () => first.waitForReady(),
      getCallCredentials: () => first.getCallCredentials(),
      destroy: () => first.destroy(),
    };
  }
}
