/**
 * Entry point of the edge's process: settings, Envoy, signals, stop. `--print` shows the configuration and ends.
 * `--validate` asks Envoy whether it accepts the configuration and ends. `--write` writes the folder for an Envoy that
 * another program runs and ends. `--take-over` relieves a running edge.
 */

import { ConfigError } from '@slipway/kit/host/env';
import { reportReady } from '@slipway/kit/host/notify-supervisor';
import { logDestination } from '@slipway/kit/log/log-text';
import { createLogger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { GoodPair } from './certificates.ts';
import { timeFault } from './certificates.ts';
import type { EdgeConfig } from './config.ts';
import { readEdgeConfig } from './config.ts';
import { coreAuthorities } from './core-authorities.ts';
import { Edge } from './edge.ts';
import { EdgeFault } from './edge-fault.ts';
import { checkFiles, readRunning, writeCoreTrust, writeEdgeFiles } from './edge-files.ts';
import { EDGE_VERSION } from './edge-version.ts';
import { bootstrap } from './envoy-config/bootstrap.ts';
import { NoEnvoyError } from './find-envoy.ts';
import { validate } from './validate.ts';

const config = readConfig();
if (process.argv.includes('--print')) {
  process.stdout.write(`${JSON.stringify(bootstrap(config, 0), null, 2)}\n`);
} else if (process.argv.includes('--validate')) {
  process.stdout.write(`${await validated(config)}\n`);
} else if (process.argv.includes('--write')) {
  process.stdout.write(`${await writeFolder(config)}\n`);
} else {
  await run(config);
}

async function transport(): Promise<Transport> {
  const { networkTransport } = await import('@slipway/kit/net/channel');
  return networkTransport({ name: 'edge', version: EDGE_VERSION });
}

async function run(config: EdgeConfig): Promise<void> {
  const logger = createLogger('edge', config.logLevel, logDestination(config.logFormat));
  const edge = new Edge(config, {
    clock: systemClock,
    random: systemRandom,
    logger,
    transport,
    takeOver: process.argv.includes('--take-over'),
    onEnded: (how, relieved) => {
      if (relieved) logger.info('a new edge has taken over; this one ends');
      else logger.fatal({ how }, 'Envoy ended unexpectedly');
      process.exit(relieved ? 0 : 1);
    },
  });
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return edge.hurry();
    stopping = true;
    try {
      await edge.stop();
    } catch (error) {
      logger.error({ err: error }, 'edge did not stop cleanly');
      process.exit(1);
    }
    process.exit(0);
  };
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(event, () => void stop());
  try {
    await edge.start();
    reportReady({ addresses: edge.addresses });
  } catch (error) {
    // The edge was asked to stop while it started. The stop ends the process.
    if (stopping) await new Promise(() => undefined);
    if (isOperators(error)) fail(error);
    logger.fatal({ err: error }, 'edge did not start');
    process.exit(1);
  }
}

async function validated(config: EdgeConfig): Promise<string> {
  try {
    const { version, pair } = await validate(config);
    noteTime(pair);
    return `Envoy ${version} takes the configuration.`;
  } catch (error) {
    if (!isOperators(error)) throw error;
    return fail(error);
  }
}

/** Writes the folder. Returns the path of the configuration. */
async function writeFolder(config: EdgeConfig): Promise<string> {
  try {
    const pair = checkFiles(config);
    noteTime(pair);
    const running = readRunning(config.dataDir);
    if (running === undefined) {
      if (config.coreTls) writeCoreTrust(config, await coreAuthorities({ config, transport, clock: systemClock }));
      return writeEdgeFiles(config, 0);
    }
    throw new EdgeFault(
      `An edge serves with the folder ${config.dataDir} (process ${running.pid}), and reads what is there; choose ` +
        'another --data-dir.',
    );
  } catch (error) {
    if (!isOperators(error)) throw error;
    return fail(error);
  }
}

function noteTime(pair: GoodPair | undefined): void {
  const doubt = pair && timeFault(pair, systemClock.nowMs());
  if (doubt !== undefined) process.stderr.write(`Note: ${doubt}.\n`);
}

/** Returns true if the operator must fix the error. They need its text and no stack trace. */
function isOperators(error: unknown): error is Error {
  return error instanceof EdgeFault || error instanceof NoEnvoyError || error instanceof ConfigError;
}

function fail({ message }: Error): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function readConfig(): EdgeConfig {
  try {
    return readEdgeConfig();
  } catch (error) {
    if (!isOperators(error)) throw error;
    return fail(error);
  }
}
