/** `slipway agent`: joins this machine to Slipway for as long as the command runs. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { AgentOptions, CliConfig } from '../config.ts';
import { agentEnv } from '../config.ts';
import { UsageError } from '../failures.ts';
import { collect, listenAddress, time, wholeNumber } from '../option-values.ts';
import { runPart } from '../parts/run-part.ts';
import { agentDataDir } from '../shared/agent-data-dir.ts';
import { coreCaOf } from '../target.ts';

/** Options of the command: none needs to be given. */
interface AgentCommandOptions extends Partial<Omit<AgentOptions, 'key'>> {
  clean?: boolean;
  publicHost?: string;
  token?: string;
  tokenFile?: string;
}

const CPU_SLOTS_MAX = 10_000;
const GB_MAX = 100_000;
const IMAGE_DISK_GB_MAX = 1_000_000;

/** Adds the command. */
export function addAgent(program: Command, cli: Cli): void {
  const command = addCommand(program, {
    usage: 'agent',
    description:
      'Join this machine and run workers on it until Ctrl-C. Each machine has its own key, which the ' +
      'operator makes: slipway keys create NAME --scope agent --save FILE. The first machine that uses a key ' +
      'owns it. A machine needs a new key when it has lost its data folder, or when its old ' +
      'key was revoked.',
    examples: [
      'agent --join core.example:50051 --token sjt_…',
      'agent --join core.example:50051 --key-file rack-1.key',
      'agent --join core.example:50051 --key-file rack-1.key --name rack-1 --location eu-1 --cpu-slots 4',
      'agent --join grpcs://slipway.example:8444 --ca-file ca.pem --cert-file rack-1.pem --cert-key-file ' +
        'rack-1-tls.key --key-file rack-1.key',
      'agent --key-file rack-1.key --worker-user per-account --data-dir /var/lib/slipway-agent',
      'agent --key-file rack-1.key --virtual-gpus "NVIDIA L4:24576x2"',
      'agent --clean --data-dir /var/lib/slipway-agent',
    ],
  })
    .option(
      '--join <host:port>',
      'address of core, or grpcs://host:port of an edge with TLS; several with commas. Default: as --core',
    )
    .option('--cert-file <file>', 'certificate of this machine, for an edge that authenticates agents by certificate')
    .option('--cert-key-file <file>', 'and its private key')
    .option('--token <token>', 'joins this machine the first time: slipway machines token; later it is not needed')
    .option('--token-file <file>', 'file that holds the token')
    .option('--key-file <file>', "file that holds the machine's key; or set SLIPWAY_AGENT_KEY")
    .option('--name <name>', "name of the machine for people; default: the host's")
    .option('--location <location>', 'country code or data centre; may be given more than once', collect)
    .option(
      '--virtual-gpus <gpus>',
      'pretend to have GPUs, as "NVIDIA L4:24576x2"; may be given more than once',
      collect,
    )
    .option('--cpu-slots <number>', 'most workers without a GPU at once; default 8', wholeNumber(0, CPU_SLOTS_MAX))
    .option('--standby-max <number>', 'most workers on standby (FlashBoot); default 4', wholeNumber(0, CPU_SLOTS_MAX))
    .option('--standby-memory <GB>', 'host memory for GPU memory on standby; default: half', wholeNumber(0, GB_MAX))
    .option('--containers <socket>', 'container engine: auto, none, or the address of its socket; default auto')
    .option('--kubernetes', 'this machine is a Kubernetes node, and images run as its Pods; see docs/operate')
    .option('--public-host <host>', 'where clients reach the TCP ports of pods; default: they are not published')
    .option('--prefetch', 'pull images of endpoints that may run here before they are needed')
    .option(
      '--image-disk <GB>',
      'disk for pulled images; the least recently used are removed. Default: the whole disk',
      wholeNumber(1, IMAGE_DISK_GB_MAX),
    )
    .option(
      '--worker-user <user>',
      'user that workers run as, if the agent runs as root: per-account, a name, or a number',
    )
    .option('--allow-commands', 'also run templates and pods without an image: commands of this machine')
    .option(
      '--metrics <address>',
      'where Prometheus reads /metrics: a port of 127.0.0.1, or host:port; default nowhere',
      listenAddress,
    )
    .option(
      '--data-dir <folder>',
      'folder of unsent results and logs, one for each agent; default .slipway/joined-agent',
    )
    .option(
      '--clean',
      'instead: remove what a stopped agent left here: containers, networks, firewall rules, volume mounts',
    )
    .action((options: AgentCommandOptions) => (options.clean ? cleanHost(cli, options) : runAgent(cli, options)));
  addStayOptions(command);
  addModelOptions(command);
}

/** Adds the options of a machine that stays for a time. */
function addStayOptions(command: Command): void {
  command
    .option('--ephemeral', 'core forgets this machine when the agent stops; running jobs are handed back')
    .option(
      '--until <time>',
      'the agent stops then, as 2026-12-01T08:00:00Z; jobs that may last longer stay away',
      time,
    );
}

/** Adds the options of cached models. */
function addModelOptions(command: Command): void {
  command
    .option(
      '--model-disk <GB>',
      'disk for models of the Hugging Face hub, 0: none; the least recently used are removed. Default: half of ' +
        'the disk',
      wholeNumber(0, IMAGE_DISK_GB_MAX),
    )
    .option('--model-dir <folder>', 'where they are kept; default models in the data folder')
    .option('--model-peers <address>', 'host:port at which other machines copy models; default nowhere', listenAddress)
    .option('--model-peer-bandwidth <MB/s>', 'most that they copy in total; default 100', wholeNumber(1, 100_000));
}

/** Cleans the host. Uses only the data folder and the container engine of the options. */
async function cleanHost(cli: Cli, { dataDir, containers }: AgentCommandOptions): Promise<void> {
  const { config } = cli;
  const env = {
    SLIPWAY_AGENT_DATA_DIR: agentDataDir(config, dataDir),
    ...(containers && { SLIPWAY_AGENT_CONTAINERS: containers }),
  };
  await runPart(cli, { module: '@slipway/gpu-agent/clean', env });
}

async function runAgent(cli: Cli, options: AgentCommandOptions): Promise<void> {
  const { config, output, target, targetOptions } = cli;
  // Never the key of local.env: it is a user's key, and core would reject it again and again.
  const dataDir = agentDataDir(config, options.dataDir);
  const joins = joinEnv(config, options, dataDir);
  const key = joins ? NO_KEY : chooseKey(config, targetOptions.key, options.keyFile);
  if (targetOptions.key !== undefined)
    output.note('Everybody on this machine can read a key in --key (ps shows it): --key-file is better.');
  const isNode = options.kubernetes ?? ['true', '1'].includes(config.env['SLIPWAY_KUBERNETES'] ?? '');
  if (config.asRoot && !isNode && !(options.workerUser ?? config.workerUser)) {
    throw new UsageError(
      'An agent that runs as root needs a user for its workers: --worker-user per-account (each account ' +
        'gets its own user), a NAME or UID for all accounts, or same (root: every worker can read all ' +
        'secrets of this machine).',
    );
  }
  const address = options.join ?? target.address;
  const coreCa = coreCaOf(targetOptions);
  const env = agentEnv(
    { ...options, ...key, ...(coreCa === undefined ? {} : { coreCa }), join: address, dataDir },
    config.workingDir,
  );
  if (joins && !hasIdentity(dataDir)) {
    // Most starts need no checks, and no tables of the network.
    const { checkBeforeJoining } = await import('../doctor/machine-checks.ts');
    await checkBeforeJoining(cli, dataDir, options.containers);
  }
  output.note(`Joining ${address}; Ctrl-C stops the workers and leaves.`);
  const ports = options.publicHost === undefined ? {} : { SLIPWAY_PUBLIC_HOST: options.publicHost };
  await runPart(cli, {
    module: '@slipway/gpu-agent/main',
    args: ['--end-if-rejected'],
    env: { ...env, ...joins, ...ports },
  });
}

const NO_KEY = { key: undefined, keyFile: undefined };

/** Returns the variables of a machine that joins by a token, or has done so. `undefined`: it has a key. */
function joinEnv(
  { workingDir, env, agentKey, agentKeyFile }: CliConfig,
  { token, tokenFile, keyFile }: AgentCommandOptions,
  dataDir: string,
): Record<string, string | undefined> | undefined {
  if ((token ?? tokenFile) !== undefined && keyFile !== undefined)
    throw new UsageError('Give --token or --key-file, not both.');
  if (tokenFile !== undefined)
    return { SLIPWAY_JOIN_TOKEN: undefined, SLIPWAY_JOIN_TOKEN_FILE: resolve(workingDir, tokenFile) };
  if (token !== undefined) return { SLIPWAY_JOIN_TOKEN: token, SLIPWAY_JOIN_TOKEN_FILE: undefined };
  if (env['SLIPWAY_JOIN_TOKEN'] || env['SLIPWAY_JOIN_TOKEN_FILE']) return {};
  const hasKey = (keyFile ?? agentKey ?? agentKeyFile) !== undefined;
  return !hasKey && hasIdentity(dataDir) ? {} : undefined;
}

/** Returns true if the machine has joined by a token. */
function hasIdentity(dataDir: string): boolean {
  return existsSync(join(dataDir, 'identity', 'identity.json'));
}

/**
 * Chooses --key-file, --key, SLIPWAY_AGENT_KEY or SLIPWAY_AGENT_KEY_FILE, in this order. Throws UsageError if none is
 * set.
 */
function chooseKey(
  config: CliConfig,
  given: string | undefined,
  file: string | undefined,
): { key: string | undefined; keyFile: string | undefined } {
  const key = file === undefined ? (given ?? config.agentKey) : undefined;
  const keyFile = file ?? (key === undefined ? config.agentKeyFile : undefined);
  if (key === undefined && keyFile === undefined) {
    throw new UsageError(
      'A machine joins with a token (slipway machines token), or with a key of scope agent: give it with --key-file ' +
        'or SLIPWAY_AGENT_KEY.\n' +
        'The operator makes one for each machine: slipway keys create NAME --scope agent --save FILE',
    );
  }
  return { key, keyFile: keyFile && resolve(config.workingDir, keyFile) };
}
