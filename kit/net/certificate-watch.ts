/**
 * Reads certificate files every few seconds: logs new ones, files that cannot be used, and certificates that end soon,
 * each once, and exports their expiry as a metric. The owner of the files loads new ones by itself; running connections
 * continue.
 */

import { LoopService } from '../lifecycle/loop-service.ts';
import type { Logger } from '../log/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Clock, Random } from '../time/clock.ts';

/** Period of reading the files, in milliseconds. */
const PERIOD_MS = 5_000;
const DAY_MS = 86_400_000;
/** Days before a certificate's end from which it is logged, once a day. */
const SOON_DAYS = 7;

/** State of a set of files that belong together. */
export interface CertificateState {
  /** Grows when new files were accepted. */
  version: number;
  /** Why the present files cannot be used, so that the previous ones stay in use. */
  fault: string | undefined;
  /** When the certificates in use are valid, in milliseconds since 1970, by what they are: `client`, `authority`. */
  validity: Readonly<Record<string, { fromMs: number; toMs: number }>>;
}

export interface CertificateWatchOptions {
  /** Prefix of the names of the metrics, for example `slipway_facade`. */
  prefix: string;
  /** Reads a set of files. Throws if they were never valid. */
  check(): CertificateState;
  metrics: Metrics;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class CertificateWatch extends LoopService {
  readonly #options: CertificateWatchOptions;
  #version = 0;
  /** The latest line of each kind, so that it is logged once. */
  readonly #logged = new Map<string, string>();

  constructor(options: CertificateWatchOptions) {
    super({ name: 'certificate watch', periodMs: PERIOD_MS, ...options });
    this.#options = options;
    const { metrics, prefix } = options;
    metrics.gauge(
      {
        name: `${prefix}_certificate_expiry_timestamp_seconds`,
        help: 'When a certificate in use ends, in seconds since 1970.',
        labels: ['certificate'],
      },
      (gauge) => {
        gauge.reset();
        for (const [certificate, { toMs }] of Object.entries(this.#state()?.validity ?? {}))
          gauge.set({ certificate }, toMs / 1_000);
      },
    );
    metrics.gauge(
      {
        name: `${prefix}_certificate_files_unusable`,
        help: '1 while the certificate files cannot be used, so that the previous ones stay in use.',
      },
      (gauge) => gauge.set(Number(this.#state()?.fault !== undefined)),
    );
  }

  protected override async pass(): Promise<void> {
    const state = this.#state();
    if (!state) return;
    const { logger, clock } = this.#options;
    if (this.#version !== 0 && state.version !== this.#version) logger.info('new certificate files are in use');
    this.#version = state.version;
    this.#log('certificate files cannot be used, the previous ones stay', state.fault);
    for (const [certificate, validity] of Object.entries(state.validity)) {
      this.#log(
        `the ${certificate} certificate is refused by others, or will be soon`,
        timeFault(validity, clock.nowMs()),
      );
    }
  }

  /** Returns the state. `undefined` if the files were never valid, which their user reports. */
  #state(): CertificateState | undefined {
    try {
      return this.#options.check();
    } catch {
      return undefined;
    }
  }

  #log(text: string, cause: string | undefined): void {
    if (cause !== undefined && cause !== this.#logged.get(text)) this.#options.logger.warn({ cause }, text);
    if (cause === undefined) this.#logged.delete(text);
    else this.#logged.set(text, cause);
  }
}

/**
 * Returns why others reject a certificate at this time, or soon will. `undefined` if they accept it. The text changes
 * once a day.
 */
export function timeFault({ fromMs, toMs }: { fromMs: number; toMs: number }, nowMs: number): string | undefined {
  if (toMs <= nowMs) return `the certificate expired on ${dayOf(toMs)}: others refuse it; renew it`;
  if (fromMs > nowMs) return `the certificate is valid from ${dayOf(fromMs)} only, or this machine's clock is wrong`;
  const days = Math.floor((toMs - nowMs) / DAY_MS);
  return days < SOON_DAYS
    ? `the certificate expires on ${dayOf(toMs)}, in ${days === 0 ? 'less than a day' : `${days} days`}: renew it`
    : undefined;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
