/** Entry of the facade process: settings, app, start, signals, stop. */
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import { ConfigError } from '@slipway/kit/host/env';
import { reportReady } from '@slipway/kit/host/notify-supervisor';
import { logDestination } from '@slipway/kit/log/log-text';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { buildFacade } from './app.ts';
import type { FacadeConfig } from './config.ts';
import { readFacadeConfig } from './config.ts';

const config = readConfig();
const logger = createLogger('facade', config.logLevel, logDestination(config.logFormat));
const facade = buildFacade(config, { logger });
let stopping = false;

function stop(): void {
  if (stopping) return;
  stopping = true;
  void facade.stop().then(
    () => process.exit(0),
    (error: Error) => {
      logger.error(`the facade did not stop cleanly: ${error.message}`);
      process.exit(1);
    },
  );
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// The launcher died: nothing else would stop this process.
process.on('disconnect', stop);

try {
  const { url, metrics } = await facade.start();
  reportReady({ url, metrics });
  collectWhenIdle({ clock: systemClock });
} catch (error) {
  // A signal arrived during the start. The stop ends the process.
  if (stopping) await new Promise(() => undefined);
  logger.fatal({ err: error }, 'facade did not start');
  process.exit(1);
}

function readConfig(): FacadeConfig {
  try {
    return readFacadeConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
