/**
 * The agent's process: configuration, parts, signals. `--end-if-rejected`: it ends when core rejects its key at
 * the first try.
 */
import { collectWhenIdle } from '@slipway/kit/host/collect-when-idle';
import { ConfigError } from '@slipway/kit/host/env';
import { reportReady } from '@slipway/kit/host/notify-supervisor';
import { logDestination } from '@slipway/kit/log/log-text';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { buildAgent } from './app.ts';
import type { AgentConfig } from './config.ts';
import { readAgentConfig } from './config.ts';
import { DataFolderError } from './data-folder.ts';
import { JoinError } from './identity/joining.ts';
import { WorkerUserError } from './users/worker-users.ts';

const config = readConfig();
const logger = createLogger('agent', config.logLevel, logDestination(config.logFormat));
const agent = buildAgent(config, {
  logger,
  onTimeOver: () => stopForGood(),
  ...(process.argv.includes('--end-if-rejected') && { onKeyRejected: endRejected }),
});
let stopping = false;
let rejected = false;

/**
 * Stops for a restart, or because no launcher is left to give a reason. Containers stay, for the next agent or until
 * the lease is over.
 */
const stopForNow = (): void => void stop(true);
/** Handles Ctrl-C: nothing may be left. */
const stopForGood = (): void => void stop(false);

/** Ends the agent of a person who waits for it, and says what to do. */
function endRejected(address: string, reason: string): void {
  process.stderr.write(
    `error: Core at ${address} refuses the key. It must be a key of scope agent that is not revoked.\n${reason}\n`,
  );
  rejected = true;
  stopForGood();
}

async function stop(keepContainers: boolean): Promise<void> {
  if (stopping) return;
  stopping = true;
  try {
    await agent.stop({ keepContainers });
  } catch (error) {
    // For instance, the disk is full. Outcomes that are not on it are lost, and their jobs run again.
    logger.error(`the agent did not stop cleanly: ${(error as Error).message}`);
    process.exit(1);
  }
  process.exit(rejected ? 1 : 0);
}

process.on('SIGTERM', stopForNow);
process.on('SIGINT', stopForGood);
// The launcher died: nothing else would stop this process.
process.on('disconnect', stopForNow);

try {
  const { address, metrics } = await agent.start();
  reportReady({ address, metrics });
  collectWhenIdle({ clock: systemClock });
} catch (error) {
  // A stop was requested during the start: the stop ends the process.
  if (stopping) await new Promise(() => undefined);
  if (error instanceof DataFolderError || error instanceof WorkerUserError || error instanceof JoinError)
    process.stderr.write(`${error.message}\n`);
  else logger.fatal({ err: error }, 'agent did not start');
  process.exit(1);
}

function readConfig(): AgentConfig {
  try {
    return readAgentConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
