/**
 * Bounds the log of a container that an earlier agent made on Podman without a limit: none can be set while the
 * container runs.
 */
import { stat, truncate } from 'node:fs/promises';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';
import { LOG_BYTES_MAX } from './container-plan.ts';

/** Pause between two checks of the file, in milliseconds. */
const CHECK_PERIOD_MS = 10_000;

/** Dependencies of `boundLog`. */
interface LogBoundDependencies {
  clock: Clock;
  logger: Logger;
  /** Aborts when the agent stops. */
  closing: AbortSignal;
}

/**
 * Truncates the log whenever it is over the limit, until the container has ended. Podman appends to the file, so it
 * continues at the new end.
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
      await delay(clock, CHECK_PERIOD_MS, over.signal);
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
