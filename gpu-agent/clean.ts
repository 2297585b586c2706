/**
 * Implements `slipway agent --clean`: takes a machine out of service. Removes what its agent left on the host,
 * including containers of pods; the data folder stays.
 *
 *   node gpu-agent/clean.ts
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logDestination } from '@slipway/kit/log/log-text';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { cleanHost } from './clean-host.ts';
import { readCleanConfig } from './config.ts';
import { EngineFinder } from './executors/container/engine-finder.ts';

const { dataDir, volumesDir, containers, logLevel, logFormat } = readCleanConfig();
const logger = createLogger('agent', logLevel, logDestination(logFormat));
try {
  const machineId = (await readFile(join(dataDir, 'machine-id'), 'utf8')).trim();
  const engine = await new EngineFinder(containers, systemClock).find().catch((error: Error) => {
    logger.warn(
      { reason: error.message },
      'no container engine: containers, their networks and rules are left as they are',
    );
    return undefined;
  });
  const result = await cleanHost({ dataDir, volumesDir, machineId, engine, endsContainers: true });
  if (result === 'cleaned')
    logger.info({ machineId, engine: engine?.facts.kind }, 'the host is clean: the data folder is all that is left');
  else fail(`An agent runs in ${dataDir}: stop it first.`);
} catch (error) {
  fail(`The host of the agent in ${dataDir} cannot be cleaned: ${(error as Error).message}`);
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
