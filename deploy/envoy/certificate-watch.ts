/**
 * Notices certificates that were written in place, which Envoy does not, and looks at every pair before Envoy gets it: half of a new pair
 * with half of the old one, as there is between two copies, waits until it fits.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { BaseService } from '../../core/runtime/service.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { CertificateFiles } from './config.ts';

/** How often the files are looked at, in milliseconds. */
const PERIOD_MS = 2_000;

/** A certificate that fits its key. */
export interface GoodPair {
  /** Of the certificate, as openssl shows it. */
  fingerprint: string;
  validTo: string;
}

/** Reads a pair; throws an Error that says what is wrong with it. */
export function readPair({ certFile, keyFile }: CertificateFiles): GoodPair {
  const certificate = new X509Certificate(readFileSync(certFile));
  if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile)))) throw new Error(`the key in ${keyFile} does not belong to ${certFile}`);
  return { fingerprint: certificate.fingerprint256, validTo: certificate.validTo };
}

export class CertificateWatch extends BaseService {
  readonly name = 'certificate watch';
  readonly #files: CertificateFiles;
  readonly #seams: { clock: Clock; logger: Logger; onChanged(pair: GoodPair): void };
  #timer: Timer | undefined;
  #known = '';
  #fault = '';

  constructor(files: CertificateFiles, seams: { clock: Clock; logger: Logger; onChanged(pair: GoodPair): void }) {
    super();
    this.#files = files;
    this.#seams = seams;
  }

  protected override onStart(): void {
    this.#known = readPair(this.#files).fingerprint;
    this.#again();
  }

  protected override onStop(): void {
    this.#timer?.cancel();
  }

  #again(): void {
    this.#timer = this.#seams.clock.after(PERIOD_MS, () => {
      this.#look();
      this.#again();
    });
  }

  #look(): void {
    try {
      const pair = readPair(this.#files);
      this.#fault = '';
      if (pair.fingerprint === this.#known) return;
      this.#known = pair.fingerprint;
      this.#seams.onChanged(pair);
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#fault) this.#seams.logger.warn({ cause: message }, 'the certificate cannot be used; the one before stays');
      this.#fault = message;
    }
  }
}
