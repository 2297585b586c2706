/** Entry of the core process: configuration, start, signals, stop. */

import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import { ConfigError } from '@slipway/kit/host/env';
import { reportReady } from '@slipway/kit/host/notify-supervisor';
import { logDestination } from '@slipway/kit/log/log-text';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { buildCore } from './app.ts';
import type { CoreConfig } from './config.ts';
import { readCoreConfig } from './config.ts';

function readConfig(): CoreConfig {
  try {
    return readCoreConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

const config = readConfig();
const logger = createLogger('core', config.logLevel, logDestination(config.logFormat));
const core = buildCore(config, { logger });
let stopping = false;

/** Stops everything in order. A second signal has no effect. */
async function stop(why: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  logger.info({ why }, 'core stops');
  await core.stop();
  process.exit(0);
}

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => {
    void stop(signal);
  });
// The launcher that started this process has died.
process.on('disconnect', () => {
  void stop('disconnect');
});

try {
  const { address, secureAddress, metrics } = await core.start();
  logger.info({ address, secureAddress, metrics }, 'core is ready');
  reportReady({ address, metrics });
  core.reportActivity();
  collectWhenIdle({ clock: systemClock });
} catch (error) {
  // Stopped during the start: the stop ends the process.
  if (stopping) await new Promise(() => undefined);
  logger.fatal({ err: error }, 'core did not start');
  process.exit(1);
}
