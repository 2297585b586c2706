/** What the command line takes from its environment. The only file of the command line that knows variable names. */
import { runsAsRoot } from '../../core/runtime/host-user.ts';

/** See the file's first line. */
export interface CliConfig {
  /** host:port of core. SLIPWAY_CORE_ADDRESS; the first of a list. */
  coreAddress: string | undefined;
  /** SLIPWAY_API_KEY. */
  apiKey: string | undefined;
  /** Key of commands that are for the operator. SLIPWAY_ROOT_KEY. */
  rootKey: string | undefined;
  /** Endpoint of commands that name none. SLIPWAY_ENDPOINT_ID. */
  endpointId: string | undefined;
  /** Key with which `slipway agent` joins. SLIPWAY_AGENT_KEY. */
  agentKey: string | undefined;
  /** Folder of the agent of `slipway agent`. SLIPWAY_AGENT_DATA_DIR. */
  agentDataDir: string | undefined;
  /** As whom the workers of `slipway agent` run. SLIPWAY_WORKER_USER. */
  workerUser: string | undefined;
  /** This is root's command. */
  asRoot: boolean;
  /** Where the user typed the command. */
  workingDir: string;
  /** What the process of `slipway agent` inherits. */
  env: Readonly<Record<string, string | undefined>>;
}

/** Variables of local.env, which `npm start` writes. */
export const LOCAL_ENV_NAMES = {
  coreAddress: 'SLIPWAY_CORE_ADDRESS', apiKey: 'SLIPWAY_API_KEY', endpointId: 'SLIPWAY_ENDPOINT_ID', exampleBody: 'SLIPWAY_EXAMPLE_INPUT',
} as const;

/** Reads it; an empty variable is none. */
export function readCliConfig(env: Readonly<Record<string, string | undefined>> = process.env): CliConfig {
  return {
    coreAddress: env['SLIPWAY_CORE_ADDRESS']?.split(',')[0]?.trim() || undefined,
    apiKey: env['SLIPWAY_API_KEY'] || undefined,
    rootKey: env['SLIPWAY_ROOT_KEY'] || undefined,
    endpointId: env['SLIPWAY_ENDPOINT_ID'] || undefined,
    agentKey: env['SLIPWAY_AGENT_KEY'] || undefined,
    agentDataDir: env['SLIPWAY_AGENT_DATA_DIR'] || undefined,
    workerUser: env['SLIPWAY_WORKER_USER'] || undefined,
    asRoot: runsAsRoot(),
    workingDir: process.cwd(),
    env,
  };
}

/** Variables of the agent's process for the options of `slipway agent` (gpu-agent/config.ts). */
export function agentEnv(options: AgentOptions): Record<string, string> {
  const variables = {
    SLIPWAY_CORE_ADDRESS: options.join,
    SLIPWAY_AGENT_KEY: options.key,
    SLIPWAY_AGENT_NAME: options.name,
    SLIPWAY_AGENT_LOCATIONS: options.location?.join(','),
    SLIPWAY_VIRTUAL_GPUS: options.virtualGpus?.join(','),
    SLIPWAY_CPU_SLOTS: options.cpuSlots?.toString(),
    SLIPWAY_WORKER_USER: options.workerUser,
    SLIPWAY_AGENT_DATA_DIR: options.dataDir,
  };
  return Object.fromEntries(Object.entries(variables).filter((entry) => entry[1] !== undefined)) as Record<string, string>;
}

/** Options of `slipway agent`; absent ones leave the variable as it is. */
export interface AgentOptions {
  join: string;
  key: string;
  name?: string;
  location?: string[];
  virtualGpus?: string[];
  cpuSlots?: number;
  workerUser?: string;
  dataDir: string;
}
