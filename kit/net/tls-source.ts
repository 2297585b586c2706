/**
 * Certificates of a gRPC client. Their files are read for each handshake, so that renewed ones need no restart.
 */
import type { TLSSocket } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { ChannelCredentials, credentials, experimental } from '@grpc/grpc-js';
import type { Clock } from '../time/clock.ts';
import { pinFault } from '../tls/pin.ts';
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
  material(): TlsMaterial;
  credentials(): ChannelCredentials;
  validity: Readonly<Record<string, Validity>>;
}

const NONE: TlsFiles = { caFile: '', certFile: '', certKeyFile: '' };

export class TlsSource {
  readonly #files: RenewedFiles<Loaded>;
  readonly #caDigests: readonly string[] | undefined;

  /**
   * Reads nothing yet. Default: the authorities that this machine trusts, and no certificate. `authorities`: in PEM,
   * trusted besides.
   */
  constructor(files: TlsFiles = NONE, authorities = '') {
    const names = [files.caFile, files.certFile, files.certKeyFile].filter((name) => name !== '');
    this.#files = new RenewedFiles(names, (texts) => load(files, texts, authorities));
    this.#caDigests = files.caDigests;
  }

  /** Returns the material of the files, or the last valid material. Throws if the files were never valid. */
  material(): TlsMaterial {
    return this.#files.current().material();
  }

  /**
   * Returns credentials for one channel, which asks for `material` at each handshake. Throws if the files were never
   * valid. `clock`: for the validity of a certificate that is checked by the digest of its authority.
   */
  credentials(clock: Pick<Clock, 'nowMs'>): ChannelCredentials {
    this.#files.current();
    const digests = this.#caDigests;
    const check =
      digests === undefined
        ? undefined
        : (socket: TLSSocket, host: string): void => requirePin(socket, digests, host, clock.nowMs());
    return new RenewedCredentials(() => this.#files.current().credentials(), check);
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

function load({ caFile, caDigests, certFile, certKeyFile }: TlsFiles, texts: readonly Buffer[], more: string): Loaded {
  const left = [...texts];
  const authority = caFile === '' ? undefined : left.shift();
  const [cert, key] = left;
  const validity: Record<string, Validity> = {};
  if (authority) validity['authority'] = authoritiesValidity(validities(authority, caFile));
  if (cert) validity['client'] = chainValidity(validities(cert, certFile));
  const own = cert && key ? { cert, key } : undefined;
  try {
    if (own) createSecureContext(own);
  } catch (error) {
    throw new Error(`${certKeyFile} does not hold the private key of ${certFile}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  // The check by the digest follows the handshake, before anything is sent.
  const options = caDigests === undefined ? {} : { rejectUnauthorized: false };
  // The machine's authorities are read for the first connection that needs them: that takes 50 ms or more.
  const material = once(
    (): TlsMaterial => ({
      ca: authority ?? Buffer.concat([trustedHere(), Buffer.from(`\n${more}`)]),
      ...own,
    }),
  );
  const opened = once(() => credentials.createSsl(material().ca, own?.key ?? null, own?.cert ?? null, options));
  // A fault of a file is found when it is read.
  if (authority) opened();
  return { material, credentials: opened, validity };
}

/** Returns a function that makes a value at its first call. */
function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Throws if the server of a connection may not be trusted. */
type PeerCheck = (socket: TLSSocket, host: string) => void;

/** Credentials that are renewed at each handshake: a channel outlives its certificates. */
class RenewedCredentials extends ChannelCredentials {
  readonly #latest: () => ChannelCredentials;
  readonly #check: PeerCheck | undefined;

  constructor(latest: () => ChannelCredentials, check: PeerCheck | undefined) {
    super();
    this.#latest = latest;
    this.#check = check;
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(...parts: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
    const first = this.#latest()._createSecureConnector(...parts);
    const [{ path }] = parts;
    const host = experimental.splitHostPort(path)?.host ?? path;
    return {
      connect: async (socket) => {
        const connected = await this.#latest()
          ._createSecureConnector(...parts)
          .connect(socket);
        this.#check?.(connected.socket as TLSSocket, host);
        return connected;
      },
      waitForReady: () => first.waitForReady(),
      getCallCredentials: () => first.getCallCredentials(),
      destroy: () => first.destroy(),
    };
  }
}

function requirePin(socket: TLSSocket, digests: readonly string[], host: string, nowMs: number): void {
  // Once: Node takes the chain out of the connection.
  const fault = pinFault(socket.getPeerX509Certificate(), digests, host.replace(/^\[|\]$/g, ''), nowMs);
  if (fault === undefined) return;
  socket.destroy();
  throw new Error(fault);
}
