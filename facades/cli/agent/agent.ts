/** `slipway agent`: makes this machine one of Slipway's, as long as the command runs. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { agentEnv } from '../config.ts';
import { RefusedError, UsageError } from '../failures.ts';
import { collect, wholeNumber } from '../option-values.ts';
import { runPart } from '../parts/run-part.ts';

interface AgentCommandOptions {
  join?: string;
  keyFile?: string;
  name?: string;
  location?: string[];
  virtualGpus?: string[];
  cpuSlots?: number;
  workerUser?: string;
  dataDir?: string;
}

const CPU_SLOTS_MAX = 10_000;
/** Not the folder of the agent of `npm start`, which may run beside this one: two agents in one folder would be one machine twice. */
const DATA_DIR_DEFAULT = '.slipway/joined-agent';

/** Adds the command. */
export function addAgent(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'agent',
    description: 'Join this machine and run workers on it until Ctrl-C. The key must have scope agent: slipway keys create --scope agent.',
    examples: [
      'agent --join core.example:50051 --key-file rack-1.key',
      'agent --join core.example:50051 --key-file rack-1.key --name rack-1 --location eu-1 --cpu-slots 4',
      'agent --key-file rack-1.key --worker-user per-account --data-dir /var/lib/slipway-agent',
      'agent --key-file rack-1.key --virtual-gpus "NVIDIA L4:24576x2"',
    ],
  })
    .option('--join <host:port>', 'address of core; several with commas. Default: as --core')
    .option('--key-file <file>', 'file with the key it joins with; default: the key of SLIPWAY_AGENT_KEY')
    .option('--name <name>', 'name of the machine for people; default: the host\'s')
    .option('--location <place>', 'country code or data centre; may be given more than once', collect)
    .option('--virtual-gpus <gpus>', 'pretend to have GPUs, as "NVIDIA L4:24576x2"; may be given more than once', collect)
    .option('--cpu-slots <number>', 'most workers without a GPU at once; default 8', wholeNumber(0, CPU_SLOTS_MAX))
    .option('--worker-user <user>', 'as whom workers run, for an agent that runs as root: per-account, a name, or a number')
    .option('--data-dir <folder>', 'where results that wait and logs are kept, one for each agent; default .slipway/joined-agent')
    .action((options: AgentCommandOptions) => runAgent(cli, options));
}

async function runAgent(cli: Cli, options: AgentCommandOptions): Promise<void> {
  const { config, output, target, targetOptions } = cli;
  // Never the key of local.env: it belongs to a user, and core would refuse it again and again.
  const keyFile = targetOptions.key === undefined ? options.keyFile ?? config.agentKeyFile : undefined;
  const key = keyFile === undefined ? targetOptions.key ?? config.agentKey : undefined;
  if (key === undefined && keyFile === undefined) {
    throw new UsageError('A machine joins with a key of scope agent: give it with --key-file or SLIPWAY_AGENT_KEY.\n'
      + 'That of "npm start" is the agentKey in .slipway/secrets.json; others are made with: slipway keys create NAME --scope agent');
  }
  if (config.asRoot && !(options.workerUser ?? config.workerUser)) {
    throw new UsageError('An agent that runs as root must be told as whom its workers run: --worker-user per-account (each account gets a user number '
      + 'of its own), a NAME or UID for all accounts, or same (root: every worker can read all secrets of this machine).');
  }
  const address = options.join ?? target.address;
  const dataDir = resolve(config.workingDir, options.dataDir ?? config.agentDataDir ?? DATA_DIR_DEFAULT);
  const env = agentEnv({ ...options, join: address, key, keyFile: keyFile && resolve(config.workingDir, keyFile), dataDir });
  output.note(`Joining ${address}; Ctrl-C stops the workers and leaves.`);
  let joined = false;
  let refused = false;
  const onLine = (line: string): boolean => {
    joined ||= line.includes('"session opened"');
    // A key that is refused at the first try will be refused for ever; later it may have been revoked while jobs run.
    refused ||= !joined && line.includes('UNAUTHENTICATED');
    return refused;
  };
  await runPart(cli, { file: 'gpu-agent/main.ts', env, onLine });
  if (refused) throw new RefusedError(`Core at ${address} refuses the key. It must be a key of scope agent that is not revoked.`);
}
