/** Where an agent that the command line starts keeps its data. */
import { resolve } from 'node:path';
import type { CliConfig } from '../config.ts';

/**
 * Default data folder. It must differ from the agent folder of `npm start`, which may run on the same machine: two
 * agents in one folder would be one machine twice.
 */
const DATA_DIR_DEFAULT = '.slipway/joined-agent';

/** Returns the data folder of this machine's agent. `given`: by an option. */
export function agentDataDir({ workingDir, agentDataDir }: CliConfig, given: string | undefined): string {
  return resolve(workingDir, given ?? agentDataDir ?? DATA_DIR_DEFAULT);
}
