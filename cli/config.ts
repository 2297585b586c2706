/**
 * Reads the settings of the command line from its environment. No other file of the command line knows variable names.
 */
import { isAbsolute, join, resolve } from 'node:path';
import { EnvReader } from '@slipway/kit/host/env';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import { readCoreTls, trustOf } from '@slipway/kit/net/core-tls';
import type { TlsFiles } from '@slipway/kit/net/tls';

export interface CliConfig {
  /** Address of core: host:port or grpcs://host:port. SLIPWAY_CORE_ADDRESS; of a list, the first address. */
  coreAddress: string | undefined;
  /**
   * Trust for connections with TLS. SLIPWAY_CORE_CA, SLIPWAY_CORE_CA_FILE, SLIPWAY_CORE_CERT_FILE,
   * SLIPWAY_CORE_CERT_KEY_FILE.
   */
  coreTls: TlsFiles;
  /** SLIPWAY_API_KEY, or the content of the file SLIPWAY_API_KEY_FILE. */
  apiKey: string | undefined;
  /** Key of operator commands. SLIPWAY_ROOT_KEY, or the content of the file SLIPWAY_ROOT_KEY_FILE. */
  rootKey: string | undefined;
  /** Endpoint of commands that do not name one. SLIPWAY_ENDPOINT_ID. */
  endpointId: string | undefined;
  /** Name of the context to use. SLIPWAY_CONTEXT. */
  context: string | undefined;
  /** File of contexts, in XDG_CONFIG_HOME or ~/.config. `undefined` without a home folder. */
  contextFile: string | undefined;
  /** Public address of the service, for `slipway env`. SLIPWAY_URL. */
  url: string | undefined;
  /** Key with which `slipway agent` joins. SLIPWAY_AGENT_KEY. */
  agentKey: string | undefined;
  /** File with that key. SLIPWAY_AGENT_KEY_FILE. */
  agentKeyFile: string | undefined;
  /** Data folder of `slipway agent`. SLIPWAY_AGENT_DATA_DIR. */
  agentDataDir: string | undefined;
  /** User that the workers of `slipway agent` run as. SLIPWAY_WORKER_USER. */
  workerUser: string | undefined;
  /** Whether the command runs as root. */
  asRoot: boolean;
  /** Folder in which the user ran the command. */
  workingDir: string;
  /** Environment that the processes of `slipway core`, `facade`, `agent` and `edge` inherit. */
  env: Readonly<Record<string, string | undefined>>;
}

/** Variables of local.env, which `npm start` writes. */
export const LOCAL_ENV_NAMES = {
  coreAddress: 'SLIPWAY_CORE_ADDRESS',
  apiKey: 'SLIPWAY_API_KEY',
  endpointId: 'SLIPWAY_ENDPOINT_ID',
  url: 'SLIPWAY_URL',
} as const;

/**
 * Reads the configuration. An empty variable counts as unset. Throws ConfigError if a file that a variable names cannot
 * be read.
 */
export function readCliConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  workingDir = process.cwd(),
): CliConfig {
  const reader = new EnvReader(env);
  const secret = (name: string): string | undefined => reader.secret(name, '') || undefined;
  const config: CliConfig = {
    coreAddress: env['SLIPWAY_CORE_ADDRESS']?.split(',')[0]?.trim() || undefined,
    coreTls: readCoreTls(reader),
    apiKey: secret('SLIPWAY_API_KEY'),
    rootKey: secret('SLIPWAY_ROOT_KEY'),
    endpointId: env['SLIPWAY_ENDPOINT_ID'] || undefined,
    context: env['SLIPWAY_CONTEXT'] || undefined,
    contextFile: contextFile(env),
    url: env['SLIPWAY_URL'] || undefined,
    agentKey: env['SLIPWAY_AGENT_KEY'] || undefined,
    agentKeyFile: env['SLIPWAY_AGENT_KEY_FILE'] || undefined,
    agentDataDir: env['SLIPWAY_AGENT_DATA_DIR'] || undefined,
    workerUser: env['SLIPWAY_WORKER_USER'] || undefined,
    asRoot: runsAsRoot(),
    workingDir,
    env,
  };
  reader.finish();
  return config;
}

function contextFile({ XDG_CONFIG_HOME: config, HOME: home }: CliConfig['env']): string | undefined {
  const folder = config && isAbsolute(config) ? config : home && join(home, '.config');
  return folder ? join(folder, 'slipway', 'contexts.json') : undefined;
}

/**
 * Returns the environment of the agent's process for the options of `slipway agent` (gpu-agent/config.ts). File names
 * are relative to `workingDir`. Of a key and its file one is set; an inherited value of the other is removed.
 */
export function agentEnv(options: AgentOptions, workingDir: string): Record<string, string | undefined> {
  const file = (name: string | undefined): string | undefined => name && resolve(workingDir, name);
  return {
    SLIPWAY_AGENT_KEY: options.key,
    SLIPWAY_AGENT_KEY_FILE: options.keyFile,
    ...trustEnv(options.coreCa, workingDir),
    ...given({
      SLIPWAY_CORE_ADDRESS: options.join,
      SLIPWAY_CORE_CERT_FILE: file(options.certFile),
      SLIPWAY_CORE_CERT_KEY_FILE: file(options.certKeyFile),
      SLIPWAY_AGENT_NAME: options.name,
      SLIPWAY_AGENT_LOCATIONS: options.location?.join(','),
      SLIPWAY_VIRTUAL_GPUS: options.virtualGpus?.join(','),
      SLIPWAY_AGENT_EPHEMERAL: options.ephemeral?.toString(),
      SLIPWAY_AGENT_UNTIL: options.until?.toISOString(),
      SLIPWAY_CPU_SLOTS: options.cpuSlots?.toString(),
      SLIPWAY_STANDBY_MAX: options.standbyMax?.toString(),
      SLIPWAY_STANDBY_MEMORY_GB: options.standbyMemory?.toString(),
      SLIPWAY_AGENT_CONTAINERS: options.containers,
      SLIPWAY_KUBERNETES: options.kubernetes?.toString(),
      SLIPWAY_PREFETCH: options.prefetch?.toString(),
      SLIPWAY_IMAGE_DISK_GB: options.imageDisk?.toString(),
      SLIPWAY_MODEL_DISK_GB: options.modelDisk?.toString(),
      SLIPWAY_MODEL_DIR: file(options.modelDir),
      SLIPWAY_MODEL_PEER_LISTEN: options.modelPeers,
      SLIPWAY_MODEL_PEER_MB_PER_SECOND: options.modelPeerBandwidth?.toString(),
      SLIPWAY_WORKER_USER: options.workerUser,
      SLIPWAY_AGENT_ALLOW_COMMANDS: options.allowCommands ? 'true' : undefined,
      SLIPWAY_METRICS_LISTEN: options.metrics,
      SLIPWAY_AGENT_DATA_DIR: options.dataDir,
    }),
  };
}

/** Options of `slipway core`. An absent option leaves its variable unchanged. */
export interface CoreOptions extends Partial<Record<'rootKeyFile' | 'previousRootKeyFile' | 'edgeKeyFile', string>> {
  databaseUrlFile?: string | undefined;
  secretKeyFile?: string | undefined;
  nextSecretKeyFile?: string | undefined;
  listen?: string;
  advertise?: string;
  metrics?: string;
  tlsName?: string[];
  tlsCertFile?: string;
  tlsKeyFile?: string;
  insecurePlaintext?: true;
  allowNewerDatabase?: true;
}

/** Returns the environment of core's process for its options (core/config.ts). Files are relative to `workingDir`. */
export function coreEnv(options: CoreOptions, workingDir: string): Record<string, string | undefined> {
  const file = (name: string | undefined): string | undefined => name && resolve(workingDir, name);
  return {
    ...byFile('SLIPWAY_DATABASE_URL', options.databaseUrlFile, workingDir),
    ...byFile('SLIPWAY_SECRET_KEY', options.secretKeyFile, workingDir),
    ...byFile('SLIPWAY_NEXT_SECRET_KEY', options.nextSecretKeyFile, workingDir),
    ...byFile('SLIPWAY_ROOT_KEY', options.rootKeyFile, workingDir),
    ...byFile('SLIPWAY_PREVIOUS_ROOT_KEY', options.previousRootKeyFile, workingDir),
    ...byFile('SLIPWAY_EDGE_KEY', options.edgeKeyFile, workingDir),
    ...given({
      SLIPWAY_CORE_LISTEN: options.listen,
      SLIPWAY_CORE_ADVERTISE: options.advertise,
      SLIPWAY_CORE_NAMES: options.tlsName?.join(','),
      SLIPWAY_CORE_TLS_CERT_FILE: file(options.tlsCertFile),
      SLIPWAY_CORE_TLS_KEY_FILE: file(options.tlsKeyFile),
      SLIPWAY_ALLOW_NEWER_DATABASE: options.allowNewerDatabase ? 'true' : undefined,
      SLIPWAY_CORE_PLAINTEXT: options.insecurePlaintext ? 'true' : undefined,
      SLIPWAY_METRICS_LISTEN: options.metrics,
    }),
  };
}

/** Options of `slipway facade`. An absent option leaves its variable unchanged. */
export interface FacadeOptions {
  /** Addresses of core replicas, separated by commas. */
  core?: string | undefined;
  coreCa?: string | undefined;
  host?: string;
  port?: number;
  certFile?: string;
  certKeyFile?: string;
  edgeKeyFile?: string;
  metrics?: string;
}

/**
 * Returns the environment of the facade's process for the options of `slipway facade` (facades/config.ts). File names
 * are relative to `workingDir`.
 */
export function facadeEnv(options: FacadeOptions, workingDir: string): Record<string, string | undefined> {
  const { core, coreCa, host, port, certFile, certKeyFile, edgeKeyFile, metrics } = options;
  return {
    ...byFile('SLIPWAY_EDGE_KEY', edgeKeyFile, workingDir),
    ...trustEnv(coreCa, workingDir),
    ...given({
      SLIPWAY_CORE_ADDRESS: core,
      SLIPWAY_HTTP_HOST: host,
      SLIPWAY_HTTP_PORT: port?.toString(),
      SLIPWAY_HTTP_CERT_FILE: certFile === undefined ? undefined : resolve(workingDir, certFile),
      SLIPWAY_HTTP_CERT_KEY_FILE: certKeyFile === undefined ? undefined : resolve(workingDir, certKeyFile),
      SLIPWAY_METRICS_LISTEN: metrics,
    }),
  };
}

/** Options of `slipway edge`. An absent option leaves its variable unchanged. */
export interface EdgeOptions {
  listen?: string;
  grpcListen?: string;
  agentListen?: string;
  joinListen?: string;
  metrics?: string;
  /** Former name of `metrics`. */
  metricsListen?: string;
  facades?: string;
  core?: string | undefined;
  coreCa?: string | undefined;
  certFile?: string;
  certKeyFile?: string;
  agentCaFile?: string;
  agentUriPrefix?: string;
  edgeKeyFile?: string;
  trustedProxies?: number;
  requestsPerAddress?: number;
  dataDir?: string;
  envoy?: string;
  accessLog: boolean;
}

/**
 * Returns the environment of the edge's process for the options of `slipway edge` (edge/config.ts). File names are
 * relative to `workingDir`.
 */
export function edgeEnv(options: EdgeOptions, workingDir: string): Record<string, string | undefined> {
  const file = (name: string | undefined): string | undefined => name && resolve(workingDir, name);
  return {
    ...trustEnv(options.coreCa, workingDir),
    ...given({
      SLIPWAY_EDGE_LISTEN: options.listen,
      SLIPWAY_EDGE_GRPC_LISTEN: options.grpcListen,
      SLIPWAY_EDGE_AGENT_LISTEN: options.agentListen,
      SLIPWAY_EDGE_JOIN_LISTEN: options.joinListen,
      SLIPWAY_EDGE_METRICS_LISTEN: options.metrics ?? options.metricsListen,
      SLIPWAY_EDGE_FACADES: options.facades,
      SLIPWAY_CORE_ADDRESS: options.core,
      SLIPWAY_EDGE_CERT_FILE: file(options.certFile),
      SLIPWAY_EDGE_CERT_KEY_FILE: file(options.certKeyFile),
      SLIPWAY_EDGE_AGENT_CA_FILE: file(options.agentCaFile),
      SLIPWAY_EDGE_AGENT_URI_PREFIX: options.agentUriPrefix,
      SLIPWAY_EDGE_KEY_FILE: file(options.edgeKeyFile),
      SLIPWAY_EDGE_TRUSTED_PROXIES: options.trustedProxies?.toString(),
      SLIPWAY_EDGE_REQUESTS_PER_ADDRESS: options.requestsPerAddress?.toString(),
      SLIPWAY_EDGE_DATA_DIR: file(options.dataDir),
      SLIPWAY_EDGE_ENVOY: file(options.envoy),
      SLIPWAY_EDGE_ACCESS_LOG: options.accessLog ? undefined : 'false',
    }),
  };
}

/** Sets whom the part trusts as core: a digest, or a file. Absent: as the environment has it. */
function trustEnv(coreCa: string | undefined, workingDir: string): Record<string, string | undefined> {
  if (coreCa === undefined) return {};
  const { caDigests, caFile } = trustOf(coreCa);
  return caDigests === undefined
    ? { SLIPWAY_CORE_CA: undefined, SLIPWAY_CORE_CA_FILE: resolve(workingDir, caFile) }
    : { SLIPWAY_CORE_CA: coreCa, SLIPWAY_CORE_CA_FILE: undefined };
}

/** Sets a secret by its file and unsets its variable. */
function byFile(name: string, file: string | undefined, workingDir: string): Record<string, string | undefined> {
  return file === undefined ? {} : { [name]: undefined, [`${name}_FILE`]: resolve(workingDir, file) };
}

/** Returns the variables that have a value. */
function given(variables: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(variables).filter((entry) => entry[1] !== undefined));
}

/** Options of `slipway agent`. An absent option leaves its variable unchanged. */
export interface AgentOptions extends Partial<Record<'certFile' | 'certKeyFile', string>> {
  join: string;
  /** Either the key or its file is set. */
  key: string | undefined;
  keyFile: string | undefined;
  coreCa?: string;
  name?: string;
  location?: string[];
  ephemeral?: boolean;
  until?: Date;
  virtualGpus?: string[];
  cpuSlots?: number;
  standbyMax?: number;
  standbyMemory?: number;
  containers?: string;
  kubernetes?: boolean;
  prefetch?: boolean;
  imageDisk?: number;
  modelDisk?: number;
  modelDir?: string;
  modelPeers?: string;
  modelPeerBandwidth?: number;
  workerUser?: string;
  allowCommands?: boolean;
  metrics?: string;
  dataDir: string;
}
