/**
 * Bounds the log of a container that an earlier agent made on Podman without a bound: it can be given none while the
 * container runs.
 */
import { stat, truncate } from 'node:fs/promises';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';
import { LOG_BYTES_MAX } from './container-plan.ts';

/** Pause between two looks at the file, in milliseconds. */
const LOOK_MS = 10_000;

/** Whose time it goes by. */
export interface LogBoundDependencies {
  clock: Clock;
  logger: Logger;
  /** The agent stops. */
  closing: AbortSignal;
}

/**
 * Empties the log whenever it is over the bound, until the container has ended. Podman appends to the file, so that it
 * goes on at its new end.
 */
export function boundLog(
  container: Docker.Container,
  ended: Promise<unknown>,
  { clock, logger, closing }: LogBoundDependencies,
): void {
  const over = new AbortController();
  void ended.then(() => over.abort());
  closing.addEventListener('abort', () => over.abort(), { once: true, signal: over.signal });
  const keep = async (): Promise<void> => {
    const { LogPath: file } = (await container.inspect()) as Docker.ContainerInspectInfo & { LogPath: string };
    while (!over.signal.aborted && !closing.aborted) {
      if ((await stat(file)).size > LOG_BYTES_MAX) await truncate(file);
      await delay(clock, LOOK_MS, over.signal);
    }
  };
  keep().catch((error: unknown) => {
    if (!over.signal.aborted)
      logger.warn(
        { err: error, containerId: container.id },
        'the log of a container of an earlier agent is not bounded',
      );
  });
}
