/** The only place where the edge reads its environment. All faults are reported together. */
import { hostname } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { RATE_RULES } from '@slipway/facades/plugins/limits/rate-limit-rules';
import { EnvReader } from '@slipway/kit/host/env';
import type { LogFormat } from '@slipway/kit/log/log-text';
import { LOG_FORMATS } from '@slipway/kit/log/log-text';
import { readCoreTls } from '@slipway/kit/net/core-tls';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { tlsFaults } from '@slipway/kit/net/tls';
import { LB_SOCKET_IDLE_MS_DEFAULT, REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import type { HostPort } from './message.ts';
import { hostPortText } from './message.ts';

/** A certificate chain and its private key: absolute paths of PEM files. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Which client certificates are accepted. */
export interface ClientCertificates {
  /** PEM file of the authority that signed them. */
  caFile: string;
  /**
   * Start of the URI that a certificate must contain, for instance `slipway://agent/`. Empty: any certificate of the
   * authority.
   */
  uriPrefix: string;
}

/** All settings of the edge. Every variable is listed in docs/operate/operations.md. */
export interface EdgeConfig {
  /** Name of this edge in core's log. */
  name: string;
  /** Listen address of the queue, REST, GraphQL and OpenAI surfaces for clients. Port 0: any free port. */
  listen: HostPort;
  /** gRPC address at which internal services reach core; `undefined` if there is none. */
  grpcListen: HostPort | undefined;
  /** Address at which agents reach core; `undefined` if there is none. */
  agentListen: HostPort | undefined;
  /**
   * Address at which machines that join by a token reach core, by core's own TLS; `undefined` if there is none. Such a
   * machine proves who it is to core itself, so TLS does not end here.
   */
  joinListen: HostPort | undefined;
  /** Address of the metrics for Prometheus, in plain HTTP; `undefined` if there is none. */
  metricsListen: HostPort | undefined;
  /** Replicas of the facade. */
  facades: HostPort[];
  /** Replicas of core. */
  cores: HostPort[];
  /** Trust of core, which is reached by TLS. `undefined`: in plain text. */
  coreTls: TlsFiles | undefined;
  /**
   * Secret that is the same as core's. With it core sends this edge the addresses of the workers of load-balancing
   * endpoints. Empty: core is not asked for them.
   */
  edgeKey: string;
  /** Longest silence of a WebSocket to a worker, in milliseconds. The same as in the facades. */
  lbSocketIdleMs: number;
  /** `undefined` for plain text, which is only allowed on a loopback address. */
  certificate: CertificateFiles | undefined;
  /** Required if agents authenticate by certificate; `undefined` if they use their key alone. */
  agentClients: ClientCertificates | undefined;
  /** Number of proxies before this edge whose information about a client's address is trusted. */
  trustedProxies: number;
  /**
   * Most requests of one client address (one /64 in IPv6) in 10 s. This is a coarse limit; the facade has the fair
   * limits, by account.
   */
  requestsPerAddress: number;
  /** Most simultaneous connections. */
  connectionsMax: number;
  /** Memory above which Envoy takes no new requests, in MiB. */
  memoryMib: number;
  /** Number of worker threads. 0: one for each processor. */
  threads: number;
  /** Longest time that requests may take to end when the edge stops, in milliseconds. */
  drainMs: number;
  /** Folder for the rendered configuration and the admin socket. Each edge needs its own. */
  dataDir: string;
  /** Path of the Envoy binary. Empty: it is searched for. */
  envoy: string;
  /** Folders that are searched for Envoy: the active Python environment, then the PATH. */
  searchPath: string[];
  /** Logs a line for each request. */
  accessLog: boolean;
  /** One of trace, debug, info, warn, error and silent. */
  logLevel: string;
  /** Form of log lines. SLIPWAY_LOG_FORMAT, default auto: text on a terminal, else JSON. */
  logFormat: LogFormat;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
/**
 * Factor between the flood guard and the largest limit that one account has on one operation. One address may stand for
 * many accounts, such as a company behind one NAT.
 */
const ACCOUNTS_BEHIND_ADDRESS = 10;
const RATE_LARGEST = Math.max(...Object.values(RATE_RULES).map(({ rate }) => rate));
/** Window of the flood guard in milliseconds, equal to the window of the rate limits. */
export const FLOOD_WINDOW_MS = REQUEST_WINDOW_SECONDS * 1_000;
/** Longest path of a Unix socket that every system supports, in bytes. */
const SOCKET_PATH_BYTES_MAX = 103;

/** Reads the settings. Throws ConfigError that lists all faults. */
export function readEdgeConfig(env: Readonly<Record<string, string | undefined>> = process.env): EdgeConfig {
  const reader = new EnvReader(env);
  const config: EdgeConfig = {
    name: reader.text('SLIPWAY_EDGE_NAME', hostname()),
    listen: addressOf(reader, 'SLIPWAY_EDGE_LISTEN', reader.text('SLIPWAY_EDGE_LISTEN', '127.0.0.1:8443')),
    grpcListen: optionalAddress(reader, 'SLIPWAY_EDGE_GRPC_LISTEN'),
    agentListen: optionalAddress(reader, 'SLIPWAY_EDGE_AGENT_LISTEN'),
    joinListen: optionalAddress(reader, 'SLIPWAY_EDGE_JOIN_LISTEN'),
    metricsListen: optionalAddress(reader, 'SLIPWAY_EDGE_METRICS_LISTEN'),
    facades: addresses(reader, 'SLIPWAY_EDGE_FACADES', '127.0.0.1:8080'),
    ...readCores(reader),
    edgeKey: reader.secret('SLIPWAY_EDGE_KEY', ''),
    lbSocketIdleMs: reader.integer('SLIPWAY_LB_SOCKET_IDLE_MS', LB_SOCKET_IDLE_MS_DEFAULT, 100, 86_400_000),
    certificate: certificateFiles(reader),
    agentClients: clientCertificates(reader),
    trustedProxies: reader.integer('SLIPWAY_EDGE_TRUSTED_PROXIES', 0, 0, 10),
    requestsPerAddress: reader.integer(
      'SLIPWAY_EDGE_REQUESTS_PER_ADDRESS',
      ACCOUNTS_BEHIND_ADDRESS * RATE_LARGEST,
      1,
      10_000_000,
    ),
    connectionsMax: reader.integer('SLIPWAY_EDGE_CONNECTIONS_MAX', 20_000, 10, 10_000_000),
    memoryMib: reader.integer('SLIPWAY_EDGE_MEMORY_MIB', 2_048, 128, 1_048_576),
    threads: reader.integer('SLIPWAY_EDGE_THREADS', 0, 0, 1_024),
    drainMs: reader.integer('SLIPWAY_EDGE_DRAIN_MS', 30_000, 0, 3_600_000),
    dataDir: resolve(reader.text('SLIPWAY_EDGE_DATA_DIR', '.slipway/edge')),
    envoy: reader.text('SLIPWAY_EDGE_ENVOY', ''),
    searchPath: [
      ...(env['VIRTUAL_ENV'] ? [join(env['VIRTUAL_ENV'], 'bin')] : []),
      ...(env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
    ],
    accessLog: reader.flag('SLIPWAY_EDGE_ACCESS_LOG', true),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', LEVELS, 'info'),
    logFormat: reader.choice('SLIPWAY_LOG_FORMAT', LOG_FORMATS, 'auto'),
  };
  checkRelations(config, reader);
  reader.finish();
  return config;
}

/**
 * Returns the path of the admin socket. Each epoch has its own, so that a successor never takes the socket of the Envoy
 * that it relieves.
 */
export function adminSocket(dataDir: string, epoch: number): string {
  return resolve(dataDir, `admin-${epoch % 10}.sock`);
}

/**
 * Returns the path of the socket at which Envoy asks the authorizer beside it. Each epoch has its own too. The path
 * must not be longer than that of the admin socket.
 */
export function authorizerSocket(dataDir: string, epoch: number): string {
  return resolve(dataDir, `authz-${epoch % 10}.sock`);
}

function checkRelations(config: EdgeConfig, reader: EnvReader): void {
  for (const [name, address] of listeners(config)) {
    if (!config.certificate && !isLoopback(address.host)) {
      reader.fault(
        `${name} is ${address.host}, which others reach, and there is no certificate: keys would travel in plain ` +
          'text. Set SLIPWAY_EDGE_CERT_FILE and SLIPWAY_EDGE_CERT_KEY_FILE',
      );
    }
  }
  if (config.agentClients && !config.certificate)
    reader.fault('SLIPWAY_EDGE_AGENT_CA_FILE needs SLIPWAY_EDGE_CERT_FILE and SLIPWAY_EDGE_CERT_KEY_FILE');
  if (config.agentClients && !config.agentListen)
    reader.fault('SLIPWAY_EDGE_AGENT_CA_FILE needs SLIPWAY_EDGE_AGENT_LISTEN');
  if (config.joinListen && !config.coreTls) {
    reader.fault(
      'SLIPWAY_EDGE_JOIN_LISTEN needs a core that speaks TLS: set SLIPWAY_CORE_CA to the digest that its log shows ' +
        '(authority=sha256:…)',
    );
  }
  if (Buffer.byteLength(adminSocket(config.dataDir, 0)) > SOCKET_PATH_BYTES_MAX) {
    reader.fault(
      `SLIPWAY_EDGE_DATA_DIR is ${config.dataDir}, too long a path for a Unix socket: at most ` +
        `${SOCKET_PATH_BYTES_MAX - 13} bytes`,
    );
  }
}

/** Returns the listeners that receive keys. */
function listeners({ listen, grpcListen, agentListen }: EdgeConfig): [string, HostPort][] {
  const all: [string, HostPort | undefined][] = [
    ['SLIPWAY_EDGE_LISTEN', listen],
    ['SLIPWAY_EDGE_GRPC_LISTEN', grpcListen],
    ['SLIPWAY_EDGE_AGENT_LISTEN', agentListen],
  ];
  return all.filter((entry): entry is [string, HostPort] => entry[1] !== undefined);
}

/** Returns the replicas of core as addresses for our own clients. */
export function coreAddresses({ cores, coreTls }: Pick<EdgeConfig, 'cores' | 'coreTls'>): string[] {
  return cores.map((core) => `${coreTls ? SECURE : ''}${hostPortText(core)}`);
}

const SECURE = 'grpcs://';

/** Reads where core is, and how it is trusted. With an authority every address is one by TLS. */
function readCores(reader: EnvReader): Pick<EdgeConfig, 'cores' | 'coreTls'> {
  const name = 'SLIPWAY_CORE_ADDRESS';
  const texts = reader.list(name, ['127.0.0.1:50051']);
  if (texts.length === 0) reader.fault(`${name} names no address`);
  const files = { ...readCoreTls(reader), certFile: '', certKeyFile: '' };
  for (const fault of tlsFaults(files)) reader.fault(fault);
  const secure = texts.filter((text) => text.startsWith(SECURE)).length;
  const isTrusted = files.caFile !== '' || files.caDigests !== undefined;
  if (!isTrusted && secure !== 0 && secure !== texts.length)
    reader.fault(`${name} has addresses with and without ${SECURE}; all replicas must be reached in the same way`);
  const cores = texts.map((text) =>
    addressOf(reader, name, text.startsWith(SECURE) ? text.slice(SECURE.length) : text),
  );
  return { cores, coreTls: isTrusted || secure > 0 ? files : undefined };
}

function isLoopback(host: string): boolean {
  return host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function certificateFiles(reader: EnvReader): CertificateFiles | undefined {
  const [certFile, keyFile] = [
    reader.text('SLIPWAY_EDGE_CERT_FILE', ''),
    reader.text('SLIPWAY_EDGE_CERT_KEY_FILE', ''),
  ];
  if (certFile === '' && keyFile === '') return undefined;
  if (certFile === '' || keyFile === '')
    reader.fault('SLIPWAY_EDGE_CERT_FILE and SLIPWAY_EDGE_CERT_KEY_FILE go together: the one is set, the other is not');
  return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
}

function clientCertificates(reader: EnvReader): ClientCertificates | undefined {
  const caFile = reader.text('SLIPWAY_EDGE_AGENT_CA_FILE', '');
  return caFile === ''
    ? undefined
    : { caFile: resolve(caFile), uriPrefix: reader.text('SLIPWAY_EDGE_AGENT_URI_PREFIX', '') };
}

function optionalAddress(reader: EnvReader, name: string): HostPort | undefined {
  const text = reader.text(name, '');
  return text === '' ? undefined : addressOf(reader, name, text);
}

function addresses(reader: EnvReader, name: string, fallback: string): HostPort[] {
  const texts = reader.list(name, [fallback]);
  if (texts.length === 0) reader.fault(`${name} names no address`);
  return texts.map((text) => addressOf(reader, name, text));
}

function addressOf(reader: EnvReader, name: string, text: string): HostPort {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535)
    reader.fault(`${name} is ${JSON.stringify(text)}, but must be host:port`);
  return { host: bracketed ?? plain ?? '', port: Number(port) };
}
