/** Configuration of the agent, read from its environment. The only file of the agent that knows variable names. */
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { EnvReader } from '@slipway/kit/host/env';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { LogFormat } from '@slipway/kit/log/log-text';
import { LOG_FORMATS } from '@slipway/kit/log/log-text';
import { ADDRESS_FORMS, parseAddress } from '@slipway/kit/net/address';
import { readCoreTls, secureAddress, withTls } from '@slipway/kit/net/core-tls';
import { metricsListenFault } from '@slipway/kit/net/metrics-server';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { tlsFaults } from '@slipway/kit/net/tls';
import { otlpEndpointFault } from '@slipway/kit/observe/tracing';
import type { StopPolicy } from './attempts/stop-policy.ts';
import type { Ulimit } from './executors/container/container-plan.ts';
import type { EngineSearch } from './executors/container/engine-finder.ts';
import type { KubernetesSettings } from './executors/kubernetes/kubernetes-settings.ts';
import { kubernetesFaults, readKubernetes } from './executors/kubernetes/kubernetes-settings.ts';
import type { MachineOptions } from './identity/pool-settings.ts';
import { readMachineOptions } from './identity/pool-settings.ts';
import { readIdentity } from './identity/read-identity.ts';
import type { StaySettings } from './inventory/stay.ts';
import { readStay } from './inventory/stay.ts';
import type { VirtualGpu } from './inventory/virtual-gpus.ts';
import { parseVirtualGpu } from './inventory/virtual-gpus.ts';
import { readUlimits } from './launch/container-ulimits.ts';
import { readContainerUsers } from './launch/container-users-setting.ts';
import { hostVariables } from './launch/host-variables.ts';
import type { ModelSettings } from './models/model-settings.ts';
import { peerListenFault, readModelSettings } from './models/model-settings.ts';
import { readTunnelAddresses } from './tunnel/read-tunnel-addresses.ts';
import type { WorkerUserSetting } from './users/worker-user-setting.ts';
import { readWorkerUser } from './users/worker-user-setting.ts';
import type { PublicPortSettings } from './workloads/http/public-ports.ts';
import { readPublicPorts } from './workloads/http/public-ports.ts';

/**
 * Models have theirs in models/model-settings.ts: SLIPWAY_MODEL_DIR, SLIPWAY_MODEL_DISK_GB, SLIPWAY_MODEL_PEER_LISTEN,
 * SLIPWAY_MODEL_PEER_MB_PER_SECOND. Ports of pods have theirs in workloads/http/public-ports.ts: SLIPWAY_PUBLIC_HOST,
 * SLIPWAY_PUBLIC_PORTS. How long the machine stays is in inventory/stay.ts: SLIPWAY_AGENT_EPHEMERAL,
 * SLIPWAY_AGENT_UNTIL. What a pool can set is in identity/pool-settings.ts: SLIPWAY_STANDBY_MAX,
 * SLIPWAY_STANDBY_MEMORY_GB, SLIPWAY_IMAGE_DISK_GB.
 */
export interface AgentConfig extends MachineOptions, ModelSettings, PublicPortSettings, StaySettings {
  /**
   * Core replicas, or the edge in front of them: `host:port`, or `grpcs://host:port` for TLS. The agent keeps a session
   * with one of them. SLIPWAY_CORE_ADDRESS, separated by commas.
   */
  coreAddresses: string[];
  /**
   * Files for addresses with TLS. Changed files are read again. SLIPWAY_CORE_CA_FILE, SLIPWAY_CORE_CERT_FILE,
   * SLIPWAY_CORE_CERT_KEY_FILE.
   */
  coreTls: TlsFiles;
  /**
   * API key with the scope AGENT. SLIPWAY_AGENT_KEY, or SLIPWAY_AGENT_KEY_FILE with the name of a file that holds it.
   */
  key: string;
  /** File of the key, which is read again while the agent runs. Empty: there is none. */
  keyFile: string;
  /**
   * Text of the token by which this machine joins if it has no key. SLIPWAY_JOIN_TOKEN, or SLIPWAY_JOIN_TOKEN_FILE.
   * Empty: it has joined, or has a key.
   */
  joinToken: string;
  /** Trust in core as it was set, without what the joining added. */
  trust: TlsFiles;
  /** Folder for unacknowledged results, logs and scratch folders. SLIPWAY_AGENT_DATA_DIR, default `.slipway/agent`. */
  dataDir: string;
  /**
   * Folder of network volumes, one directory each. It is shared by the machines of a data centre. SLIPWAY_VOLUMES_DIR,
   * default `<dataDir>/volumes`.
   */
  volumesDir: string;
  /**
   * User of workers and pods: `per-account` (or `per-account:BASE`), a name, `UID`, `UID:GID`, or `same` for the
   * agent's own user. SLIPWAY_WORKER_USER, default `same`; required if the agent runs as root.
   */
  workerUser: WorkerUserSetting;
  /** Display name. SLIPWAY_AGENT_NAME, default the host's name. */
  name: string;
  /** Country code and data-centre id. SLIPWAY_AGENT_LOCATIONS, separated by commas, default none. */
  locations: string[];
  /** Simulated GPUs. SLIPWAY_VIRTUAL_GPUS, for instance `NVIDIA L4:24576x2`, separated by commas, default none. */
  virtualGpus: VirtualGpu[];
  /** Most workers without a GPU. SLIPWAY_CPU_SLOTS, default 8. */
  cpuSlots: number;
  /** Port of the bridge on the loopback address. SLIPWAY_BRIDGE_PORT, default 0: any free one. */
  bridgePort: number;
  /** Allows commands of this host: workers and pods without an image. SLIPWAY_AGENT_ALLOW_COMMANDS, default false. */
  allowCommands: boolean;
  /** Container engine. SLIPWAY_AGENT_CONTAINERS: `auto` (default), `none`, or the address of its socket. */
  containers: EngineSearch;
  /**
   * The Kubernetes node that this machine is: images run as its Pods. SLIPWAY_KUBERNETES and those beside it, in
   * executors/kubernetes/kubernetes-settings.ts. Default: it is none.
   */
  kubernetes: KubernetesSettings | undefined;
  /** Vendor and class of this machine's CDI devices. SLIPWAY_CDI_KIND, default `nvidia.com/gpu`. */
  cdiKind: string;
  /** Ulimits of processes in containers. SLIPWAY_CONTAINER_ULIMITS, default: only the engine's own. */
  containerUlimits: readonly Ulimit[];
  /**
   * Host user that root of containers is: `host` for root, `mapped`, or `mapped:BASE`. SLIPWAY_CONTAINER_USERS, default
   * host, as 0.
   */
  containerUserBase: number;
  /**
   * Registries that may have addresses in private networks, `host` or `host:port`. SLIPWAY_PRIVATE_REGISTRIES,
   * separated by commas; `true` allows all; default none.
   */
  privateRegistries: PrivateRegistries;
  /** Pulls images of endpoints that may run here before they are needed. SLIPWAY_PREFETCH, default false. */
  prefetch: boolean;
  /**
   * Disk budget for the logs of ended workers and pods, in MiB, 4 to 100,000. The oldest are removed first.
   * SLIPWAY_ENDED_LOGS_MIB, default 64.
   */
  endedLogsMib: number;
  /** Decides when a worker is killed because a job does not stop. SLIPWAY_STOP_POLICY, default auto. */
  stopPolicy: StopPolicy;
  /** Time that a job may take to stop before that, in milliseconds. SLIPWAY_STOP_GRACE_MS, default 5000. */
  stopGraceMs: number;
  /** Time that a worker may take to end after SIGTERM, in milliseconds. SLIPWAY_WORKER_GRACE_MS, default 5000. */
  workerGraceMs: number;
  /**
   * Host name or address by which facades and proxies on other machines reach the HTTP servers of this machine's
   * workers. SLIPWAY_ADVERTISE_HOST, default empty: the worker's own address, and 127.0.0.1 for commands. That is
   * enough while everything runs on one machine. If it is set, each container gets a port of this host.
   */
  advertiseHost: string;
  /**
   * For a machine that facades and proxies cannot dial: facades, or the edges in front of them, each `http://host:port`
   * or `https://host:port`, to which the agent opens tunnels. Workers are then only reached through the tunnels.
   * SLIPWAY_TUNNEL_ADDRESS, separated by commas, default none.
   */
  tunnelAddresses: string[];
  /**
   * Longest time for which the health path of a load-balancing endpoint's worker may go without a 200 or 204, in
   * milliseconds. SLIPWAY_HTTP_SILENCE_MS, default 480000.
   */
  httpSilenceMs: number;
  /**
   * Time that a worker of a load-balancing endpoint has to finish its clients' requests before it ends, in
   * milliseconds. It must be longer than any request may take; the rest is cut. SLIPWAY_HTTP_DRAIN_MS, default 360000.
   */
  httpDrainMs: number;
  /** Log level. SLIPWAY_LOG_LEVEL, default info. */
  logLevel: string;
  /** Form of log lines. SLIPWAY_LOG_FORMAT, default auto: text on a terminal, else JSON. */
  logFormat: LogFormat;
  /**
   * host:port on which Prometheus reads metrics; port 0 means any free one. SLIPWAY_METRICS_LISTEN, default empty: no
   * metrics.
   */
  metricsListen: string;
  /** Base URL of an OpenTelemetry collector that takes OTLP over HTTP; empty means that nothing is traced. */
  otlpEndpoint: string;
  /** Variables of this host that workers may see: programs need them. Never the agent's own. */
  hostEnv: Record<string, string>;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const STOP_POLICIES = ['auto', 'always', 'never'] as const;
/** Reads the settings that are needed to remove what an agent left on its host. */
export function readCleanConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Pick<AgentConfig, 'dataDir' | 'volumesDir' | 'containers' | 'logLevel' | 'logFormat'> {
  const reader = new EnvReader(env);
  const config = {
    ...readLocations(reader),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', LOG_LEVELS, 'info'),
    logFormat: reader.choice('SLIPWAY_LOG_FORMAT', LOG_FORMATS, 'auto'),
  };
  reader.finish();
  return config;
}

/** Reads the settings that an import of models needs. */
export function readImportConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Pick<AgentConfig, 'modelDir' | 'modelDiskGb' | 'logLevel'> {
  const reader = new EnvReader(env);
  const { modelDir, modelDiskGb } = readModelSettings(reader, readLocations(reader).dataDir);
  const logLevel = reader.choice('SLIPWAY_LOG_LEVEL', LOG_LEVELS, 'info');
  reader.finish();
  return { modelDir, modelDiskGb, logLevel };
}

/** Reads the locations of folders and of the container engine. */
function readLocations(reader: EnvReader): Pick<AgentConfig, 'dataDir' | 'volumesDir' | 'containers'> {
  const dataDir = resolve(reader.text('SLIPWAY_AGENT_DATA_DIR', '.slipway/agent'));
  return {
    dataDir,
    volumesDir: resolve(reader.text('SLIPWAY_VOLUMES_DIR', join(dataDir, 'volumes'))),
    containers: {
      setting: reader.text('SLIPWAY_AGENT_CONTAINERS', 'auto'),
      dockerHost: reader.text('DOCKER_HOST', ''),
      runtimeDir: reader.text('XDG_RUNTIME_DIR', ''),
    },
  };
}

/** Reads the configuration. Throws ConfigError with all faults at once. `asRoot`: the agent runs as root. */
export function readAgentConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  asRoot = runsAsRoot(),
): AgentConfig {
  const reader = new EnvReader(env);
  const coreAddresses = reader.list('SLIPWAY_CORE_ADDRESS', []);
  if (coreAddresses.length === 0) reader.fault('SLIPWAY_CORE_ADDRESS is not set');
  for (const address of coreAddresses) {
    if (!parseAddress(address))
      reader.fault(`SLIPWAY_CORE_ADDRESS holds ${JSON.stringify(address)}, but must be ${ADDRESS_FORMS}`);
  }
  const trust = readTlsFiles(reader);
  const locations = readLocations(reader);
  const identity = readIdentity(reader, locations.dataDir, trust);
  const coreTls = identity.tls;
  const kubernetes = readKubernetes(reader);
  // A Pod runs as the user of its image, also if the agent is root.
  const workerUser = readWorkerUser(reader, asRoot && !kubernetes);
  const config: AgentConfig = {
    coreAddresses: coreAddresses.map((address) =>
      identity.key === '' ? secureAddress(address) : withTls(address, coreTls),
    ),
    coreTls,
    key: identity.key,
    keyFile: identity.keyFile,
    joinToken: identity.joinToken,
    trust,
    ...locations,
    kubernetes,
    workerUser,
    name: reader.text('SLIPWAY_AGENT_NAME', kubernetes?.node || hostname()),
    locations: reader.list('SLIPWAY_AGENT_LOCATIONS', []),
    ...readStay(reader),
    virtualGpus: readVirtualGpus(reader),
    cpuSlots: reader.integer('SLIPWAY_CPU_SLOTS', 8, 0, 10_000),
    ...readMachineOptions(reader, kubernetes !== undefined),
    bridgePort: reader.integer('SLIPWAY_BRIDGE_PORT', 0, 0, 65_535),
    allowCommands: reader.flag('SLIPWAY_AGENT_ALLOW_COMMANDS', false),
    cdiKind: reader.text('SLIPWAY_CDI_KIND', 'nvidia.com/gpu'),
    containerUlimits: readUlimits(reader),
    containerUserBase: readContainerUsers(reader, workerUser),
    privateRegistries: reader.flagOrList('SLIPWAY_PRIVATE_REGISTRIES', false),
    prefetch: reader.flag('SLIPWAY_PREFETCH', false),
    ...readModelSettings(reader, locations.dataDir),
    endedLogsMib: reader.integer('SLIPWAY_ENDED_LOGS_MIB', 64, 4, 100_000),
    stopPolicy: reader.choice('SLIPWAY_STOP_POLICY', STOP_POLICIES, 'auto'),
    stopGraceMs: reader.integer('SLIPWAY_STOP_GRACE_MS', 5_000, 0, 3_600_000),
    workerGraceMs: reader.integer('SLIPWAY_WORKER_GRACE_MS', 5_000, 0, 3_600_000),
    advertiseHost: reader.text('SLIPWAY_ADVERTISE_HOST', ''),
    ...readPublicPorts(reader),
    tunnelAddresses: readTunnelAddresses(reader),
    httpSilenceMs: reader.integer('SLIPWAY_HTTP_SILENCE_MS', 480_000, 1_000, 3_600_000),
    httpDrainMs: reader.integer('SLIPWAY_HTTP_DRAIN_MS', 360_000, 0, 86_400_000),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', LOG_LEVELS, 'info'),
    logFormat: reader.choice('SLIPWAY_LOG_FORMAT', LOG_FORMATS, 'auto'),
    metricsListen: reader.text('SLIPWAY_METRICS_LISTEN', ''),
    otlpEndpoint: reader.text('OTEL_EXPORTER_OTLP_ENDPOINT', ''),
    hostEnv: hostVariables(env),
  };
  const fault =
    metricsListenFault(config.metricsListen) ??
    peerListenFault(config, config.advertiseHost) ??
    otlpEndpointFault(config.otlpEndpoint);
  if (fault !== undefined) reader.fault(fault);
  if (kubernetes) for (const text of kubernetesFaults(config)) reader.fault(text);
  reader.finish();
  return config;
}

function readTlsFiles(reader: EnvReader): TlsFiles {
  const files = readCoreTls(reader);
  for (const fault of tlsFaults(files)) reader.fault(fault);
  return files;
}

function readVirtualGpus(reader: EnvReader): VirtualGpu[] {
  return reader.list('SLIPWAY_VIRTUAL_GPUS', []).flatMap((text) => {
    const gpu = parseVirtualGpu(text);
    if (!gpu) reader.fault(`SLIPWAY_VIRTUAL_GPUS has ${JSON.stringify(text)}, but a GPU looks like NVIDIA L4:24576x2`);
    return gpu ? [gpu] : [];
  });
}
