/**
 * Watches for certificate files that were written in place, which Envoy does not notice, and checks them before Envoy
 * reads them. While files are being copied, half of a new pair may lie beside half of the old one; it is not used until
 * the pair fits. Also warns before a certificate expires.
 */

import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { GoodPair } from './certificates.ts';
import { readAuthority, readPair, timeFault } from './certificates.ts';
import type { CertificateFiles, ClientCertificates } from './config.ts';

/** Time between two checks of the files, in milliseconds. */
const PERIOD_MS = 2_000;

const PAIR_FAULT = 'the certificate cannot be used; the one before stays';
const AUTHORITY_FAULT = 'the authority of agents cannot be used; the one before stays';

/** Files to watch. */
interface WatchedFiles {
  certificate: CertificateFiles;
  agentClients: ClientCertificates | undefined;
}

interface WatchDeps {
  clock: Clock;
  logger: Logger;
  onCertificate(pair: GoodPair): void;
  onAuthority(): void;
}

export class CertificateWatch extends BaseService {
  readonly name = 'certificate watch';
  readonly #files: WatchedFiles;
  readonly #deps: WatchDeps;
  #timer: Timer | undefined;
  #known = { pair: '', authority: '' };
  /** Last message logged for each subject, so that each is logged once. */
  readonly #logged = new Map<string, string>();

  constructor(files: WatchedFiles, deps: WatchDeps) {
    super();
    this.#files = files;
    this.#deps = deps;
  }

  protected override onStart(): void {
    const { certificate, agentClients } = this.#files;
    // Somebody may have begun to write between the check before Envoy's start and now. The next check then finds the
    // complete files.
    this.#guarded(PAIR_FAULT, () => {
      const pair = readPair(certificate);
      this.#known.pair = pair.fingerprint;
      this.#logValidity(pair);
    });
    if (agentClients)
      this.#guarded(AUTHORITY_FAULT, () => {
        this.#known.authority = readAuthority(agentClients);
      });
    this.#again();
  }

  protected override onStop(): void {
    this.#timer?.cancel();
  }

  #again(): void {
    this.#timer = this.#deps.clock.after(PERIOD_MS, () => {
      this.#guarded(PAIR_FAULT, () => this.#checkPair());
      this.#guarded(AUTHORITY_FAULT, () => this.#checkAuthority());
      this.#again();
    });
  }

  #checkPair(): void {
    const pair = readPair(this.#files.certificate);
    this.#logValidity(pair);
    if (pair.fingerprint === this.#known.pair) return;
    this.#known.pair = pair.fingerprint;
    this.#deps.onCertificate(pair);
  }

  #checkAuthority(): void {
    const { agentClients } = this.#files;
    if (!agentClients) return;
    const fingerprint = readAuthority(agentClients);
    if (fingerprint === this.#known.authority) return;
    this.#known.authority = fingerprint;
    this.#deps.onAuthority();
  }

  #logValidity(pair: GoodPair): void {
    this.#log('clients may refuse the certificate', timeFault(pair, this.#deps.clock.nowMs()));
  }

  #guarded(what: string, check: () => void): void {
    try {
      check();
      this.#logged.delete(what);
    } catch (error) {
      this.#log(what, (error as Error).message);
    }
  }

  #log(what: string, cause: string | undefined): void {
    if (cause !== undefined && cause !== this.#logged.get(what)) this.#deps.logger.warn({ cause }, what);
    if (cause === undefined) this.#logged.delete(what);
    else this.#logged.set(what, cause);
  }
}
