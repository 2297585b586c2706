/** Everything long-lived is a Service: it starts, it stops, and stopping waits for its end. */
import type { Logger } from './logger.ts';

/** A part of a process that runs until it is told to stop. */
export interface Service {
  /** For the log. */
  readonly name: string;
  /** Resolves when it is ready for others to use. */
  start(): Promise<void>;
  /** Resolves when nothing of it runs any more. May be called at any time and more than once. */
  stop(): Promise<void>;
}

/** Starts services in order; when one fails, those already started are stopped in reverse and the failure is thrown. */
export async function startAll(services: readonly Service[], logger: Logger): Promise<void> {
  const started: Service[] = [];
  for (const service of services) {
    try {
      await service.start();
      started.push(service);
    } catch (error) {
      logger.error({ err: error, service: service.name }, 'service did not start');
      await stopAll([...started, service], logger);
      throw error;
    }
  }
}

/** Stops services in reverse order. A failing one is logged and does not keep the others from stopping. */
export async function stopAll(services: readonly Service[], logger: Logger): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      logger.error({ err: error, service: service.name }, 'service did not stop cleanly');
    }
  }
}
