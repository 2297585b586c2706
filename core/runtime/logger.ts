/** Logs as JSON lines: a constant sentence and its data in fields. Field names are jobId, endpointId, workerId, machineId, … */
import { pino } from 'pino';
import type { Logger as PinoLogger } from 'pino';

/** A logger; `child` adds fields to every line. */
export type Logger = PinoLogger;

/** Secrets never reach the log, whatever object somebody passes. */
const REDACTED = ['authorization', 'apiKey', 'api_key', 's3Config', 's3_config', 'accessSecret', 'secret', 'password'];

/** Makes the logger of a process. `level` is one of trace, debug, info, warn, error, silent. */
export function createLogger(name: string, level: string): Logger {
  const paths = REDACTED.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);
  return pino({ name, level, redact: { paths, censor: '[secret]' }, base: { pid: process.pid } });
}
