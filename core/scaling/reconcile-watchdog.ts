/**
 * Watches reconcile transactions. Until one ends, no decision about its endpoints is made. Slow transactions are logged
 * with what they wait for; transactions that do not end are aborted, and their endpoints retried.
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type {
  TransactionMonitor,
  TransactionWait,
  TransactionWaitReport,
} from '../store/scaling/transaction-monitor.ts';
import { ReconcileTimeoutError } from '../store/scaling/transaction-monitor.ts';
import type { Stores } from '../store/storage.ts';

/** Time after which a transaction is logged as slow, in milliseconds. Shorter than the lock timeout of the database. */
const SLOW_MS = 15_000;
/**
 * Time after which a transaction is aborted, in milliseconds. Everything that it can wait for has a shorter timeout;
 * this is the last resort. It grows where the database is slow.
 */
const TIMEOUT_MS = 60_000;
/** Reported if the database could not be asked. */
const UNKNOWN: TransactionWaitReport = { wait: 'unknown', statement: '', holders: [] };

/** Counts slow and aborted transactions. */
export interface WatchdogMeter {
  /** Counts a slow transaction, by what it waits for. */
  onSlow(wait: TransactionWait): void;
  onTimedOut(): void;
}

/** Dependencies of the watchdog. */
interface WatchdogOptions {
  store: Pick<Stores['scales'], 'monitor'>;
  /** Default: no metrics. */
  meter?: WatchdogMeter;
  clock: Clock;
  logger: Logger;
}

export class ReconcileWatchdog {
  readonly #options: WatchdogOptions;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Runs a reconcile transaction. Throws ReconcileTimeoutError if it does not end in time. */
  async run<Result>(
    endpointIds: readonly string[],
    take: (monitor: TransactionMonitor) => Promise<Result>,
  ): Promise<Result> {
    const { store, clock, logger, meter } = this.#options;
    const monitor = store.monitor();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const slow = clock.after(SLOW_MS, () => void this.#report(endpointIds, monitor));
    const ms = TIMEOUT_MS * monitor.slowness;
    const end = clock.after(ms, () => {
      logger.warn({ endpointIds, ms }, 'reconcile timed out and was aborted; it is retried');
      meter?.onTimedOut();
      monitor.abort();
      reject(new ReconcileTimeoutError());
    });
    try {
      return await Promise.race([take(monitor), aborted]);
    } finally {
      slow.cancel();
      end.cancel();
    }
  }

  /** Logs a slow transaction. Never fails. */
  async #report(endpointIds: readonly string[], monitor: TransactionMonitor): Promise<void> {
    const waiting = await monitor.currentWait().catch(() => UNKNOWN);
    this.#options.logger.warn({ endpointIds, ms: SLOW_MS, ...waiting }, `reconcile is slow: ${TEXTS[waiting.wait]}`);
    this.#options.meter?.onSlow(waiting.wait);
  }
}

const TEXTS: Readonly<Record<TransactionWait, string>> = {
  connection:
    'it waits for a database connection; raise the CPUs of the database, or check what keeps all connections busy',
  lock: 'it waits for a database lock; end the transactions that hold it, unless they end by themselves',
  work: 'the database executes a statement; check its CPUs and memory',
  response:
    'the response of the database has not arrived; check the network, and whether this process is short of CPU time',
  unknown: 'the database does not say what it waits for',
};
