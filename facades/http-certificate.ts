/**
 * The certificate of a facade that serves TLS itself. Files that change are read again: new connections get the new
 * certificate, open ones continue.
 */
import type { Server } from 'node:https';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { CertificateState } from '@slipway/kit/net/certificate-watch';
import { certifiedFiles } from '@slipway/kit/net/renewed-files';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { FacadeConfig } from './config.ts';

/** Period of the check for other files, in milliseconds. */
const PERIOD_MS = 2_000;
/** Longest time for a handshake, in milliseconds. */
const HANDSHAKE_MS = 10_000;

interface HttpCertificateOptions {
  config: Pick<FacadeConfig, 'httpCertFile' | 'httpCertKeyFile'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class HttpCertificate extends LoopService {
  readonly #files: ReturnType<typeof certifiedFiles> | undefined;
  #server: Pick<Server, 'setSecureContext'> | undefined;
  #version = 0;

  constructor(options: HttpCertificateOptions) {
    super({ ...options, name: 'certificate of HTTP', periodMs: PERIOD_MS });
    const { httpCertFile, httpCertKeyFile } = options.config;
    if (httpCertFile !== '') this.#files = certifiedFiles(httpCertFile, httpCertKeyFile);
  }

  /** Returns the options of the server. `undefined`: it serves no TLS. Throws if the files cannot be used. */
  options(): { cert: string; key: string; handshakeTimeout: number } | undefined {
    if (!this.#files) return undefined;
    const { certificate: cert, key } = this.#files.current();
    this.#version = this.#files.version;
    return { cert, key, handshakeTimeout: HANDSHAKE_MS };
  }

  /** Renews the certificate of this server from now on. */
  renew(server: Pick<Server, 'setSecureContext'>): void {
    this.#server = server;
  }

  /** Returns the state of the files for the certificate watch. `undefined` if there are none. */
  check(): CertificateState | undefined {
    if (!this.#files) return undefined;
    const { validity } = this.#files.current();
    return { version: this.#files.version, fault: this.#files.fault, validity: { server: validity } };
  }

  protected override async onStart(): Promise<void> {
    if (this.#files) await super.onStart();
  }

  protected override async pass(): Promise<void> {
    const { certificate: cert, key } = this.#files!.current();
    if (this.#files!.version === this.#version) return;
    this.#version = this.#files!.version;
    this.#server?.setSecureContext({ cert, key });
  }
}
