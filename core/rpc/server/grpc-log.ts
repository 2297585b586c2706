/**
 * Writes the messages of grpc-js to our log, without the values of metadata: grpc-js prints the entries that it leaves
 * out, and keys are among them.
 */
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';

const LEFT_OUT = /^Failed to add metadata entry ([\w.-]{1,64}):/;

/** Redirects the log of grpc-js, for the whole process. */
export function logGrpc(logger: Pick<Logger, 'warn' | 'debug'>): void {
  const log = (text: unknown): void => {
    const [, entry] = LEFT_OUT.exec(String(text)) ?? [];
    if (entry === undefined) logger.warn({ text: String(text) }, 'log line of grpc-js');
    else logger.debug({ entry }, 'metadata with invalid characters was left out');
  };
  setLogger({ error: log, info: log, debug: log });
}
