/**
 * Logs as JSON lines: a constant sentence and its data in fields. Field names are jobId, endpointId, workerId,
 * machineId, …
 */

import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { pino, stdTimeFunctions } from 'pino';
import type { Clock } from '../time/clock.ts';
import { backgroundClock } from '../time/clock.ts';
import { LineLimit } from './line-limit.ts';
import { plainText, withoutSecrets } from './log-secrets.ts';

/** A logger. Its `child` must not be called: its fields would bypass withoutSecrets. */
export type Logger = PinoLogger;

/** Levels whose lines are bounded in number: all that are written unless an operator asks for more. */
const INFO = pino.levels.values['info']!;
const BOUNDED = new Set([INFO, pino.levels.values.warn, pino.levels.values.error]);

/**
 * Makes the logger of a process. `level` is one of trace, debug, info, warn, error, silent. Secrets never reach the
 * log, whatever object is passed, and no cause floods it (LineLimit). `clock`: default the machine's own.
 */
export function createLogger(
  name: string,
  level: string,
  destination?: DestinationStream,
  clock: Pick<Clock, 'after'> = backgroundClock,
): Logger {
  let isReporting = false;
  const limit = new LineLimit(clock, ({ sentence, owner, lines, seconds, isFault }) => {
    isReporting = true;
    logger[isFault ? 'warn' : 'info'](
      { ...(owner && { [owner[0]]: owner[1] }), of: sentence, lines, seconds },
      'more lines of the same were left out',
    );
    isReporting = false;
  });
  const options = {
    name,
    level,
    base: { pid: process.pid },
    // ISO 8601, UTC: people and collectors read it.
    timestamp: stdTimeFunctions.isoTime,
    // withoutSecrets has serialized it already.
    serializers: { err: (error: unknown) => error },
    hooks: {
      logMethod(this: PinoLogger, args: Parameters<pino.LogFn>, method: pino.LogFn, level: number) {
        if (!isReporting && BOUNDED.has(level) && !limit.admits(args, level > INFO)) return;
        // Before pino looks at it: even that may throw.
        method.apply(this, args.map(plain) as Parameters<pino.LogFn>);
      },
    },
  };
  const logger = destination ? pino(options, destination) : pino(options);
  return logger;
}

function plain(arg: unknown): unknown {
  if (typeof arg === 'string') return plainText(arg);
  return typeof arg === 'object' && arg !== null ? withoutSecrets(arg) : arg;
}

/** Returns fields for a log line about many attempts or jobs: their number, and the first 20. */
export function someAttempts(
  attempts: readonly { endpointId: string; jobId: string; attempt?: number; workerId?: string; machineId?: string }[],
): object {
  const logged = attempts.slice(0, ATTEMPTS_LOGGED_MAX).map(({ endpointId, jobId, attempt, workerId, machineId }) => ({
    endpointId,
    jobId,
    attempt,
    workerId,
    machineId,
  }));
  return { count: attempts.length, attempts: logged };
}

/** Returns fields for a log line about many workers: their number, and the first 20. */
export function someWorkers(ids: Iterable<string>): object {
  const workerIds = [...ids];
  return { count: workerIds.length, workerIds: workerIds.slice(0, ATTEMPTS_LOGGED_MAX) };
}

const ATTEMPTS_LOGGED_MAX = 20;
