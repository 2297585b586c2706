/** Reads the facade's environment. No other file reads it. All faults are reported together. */

import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { readEdgeKeys } from '@slipway/kit/host/edge-keys';
import { EnvReader } from '@slipway/kit/host/env';
import type { LogFormat } from '@slipway/kit/log/log-text';
import { LOG_FORMATS } from '@slipway/kit/log/log-text';
import { ADDRESS_FORMS, parseAddress } from '@slipway/kit/net/address';
import { readCoreTls, withTls } from '@slipway/kit/net/core-tls';
import { metricsListenFault } from '@slipway/kit/net/metrics-server';
import { parseNetwork } from '@slipway/kit/net/network';
import { certifiedFiles } from '@slipway/kit/net/renewed-files';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { tlsFaults } from '@slipway/kit/net/tls';
import { otlpEndpointFault } from '@slipway/kit/observe/tracing';
import { LB_HOLD_MS_DEFAULT, LB_PROCESSING_MS_DEFAULT, LB_SOCKET_IDLE_MS_DEFAULT } from '@slipway/proto/wire/limits';

/** Response shape of GET /stream if the request does not choose one (queue/stream-shape.ts). */
export type StreamShapeSetting = 'auto' | 'seed' | 'sdk';

/** Settings of a facade. Every variable is listed in facades/README.md. */
export interface FacadeConfig {
  /** Addresses of core replicas: host:port, or grpcs://host:port for TLS. At least one. */
  coreAddresses: string[];
  /** Files for TLS addresses. Files that change are read again. */
  coreTls: TlsFiles;
  /** Host that HTTP listens on. */
  httpHost: string;
  /** Port that HTTP listens on. 0: any free port. */
  httpPort: number;
  /** PEM file of the certificate, with its chain, by which HTTP is served over TLS. Empty: in plain text. */
  httpCertFile: string;
  /** PEM file of its private key. */
  httpCertKeyFile: string;
  /** Response shape of /stream (docs/reference/api.md#stream). */
  streamShape: StreamShapeSetting;
  /**
   * Requests per 10 s that every running worker adds to the dynamic limit of docs/reference/api.md#rate-limits.
   * Default: 100.
   */
  requestsPerWorker: number;
  /** Concurrent requests that every running worker adds. Default: 20. */
  concurrencyPerWorker: number;
  /** Most open connections of one client address. Proxies and edges are not bounded. */
  connectionsPerAddress: number;
  /** Whether rate limits apply. False for instance behind an edge that has its own. */
  rateLimits: boolean;
  /** Longest pause between two chunks of a request body, in milliseconds. */
  bodyIdleMs: number;
  /** Longest time for a whole request body, in milliseconds. */
  bodyTotalMs: number;
  /**
   * Budget for request bodies in memory, in MiB. One account gets a quarter of it, which must hold the largest body.
   */
  bodiesMib: number;
  /**
   * Budget for responses that clients have not read yet, in MiB. One account gets a quarter of it, which must hold the
   * largest output.
   */
  answersMib: number;
  /**
   * Longest time in which a client reads nothing of a large response, in milliseconds. The whole response may take this
   * time and a second for each 32 kB. After that the connection is closed.
   */
  answerIdleMs: number;
  /** Whether the job is cancelled when the client of an /openai request disconnects (docs/reference/api.md#openai). */
  openaiCancelOnDisconnect: boolean;
  /**
   * Whether DELETE /v1/endpoints/{id} first sets workersMin and workersMax to 0, for tools that send only the DELETE.
   * Default: false. The request is then rejected with WORKERS_NOT_ZERO, as on every surface, so that nobody deletes an
   * endpoint that serves requests.
   */
  restDeleteAutoZero: boolean;
  /**
   * Whether GraphQL is loaded at the start, which takes half a second of CPU time. If false, the first request loads it
   * and waits.
   */
  graphqlAtStart: boolean;
  /**
   * Secrets shared with core and the edges. Edges that have one may ask this facade to authorize requests to workers.
   * None: no edge may.
   */
  edgeKeys: EdgeKeys;
  /**
   * Addresses and networks of proxies whose X-Forwarded-For, -Host and -Proto are trusted. Edges with the key need not
   * be listed. Default: loopback.
   */
  trustedProxies: string[];
  /** Origins whose pages may use the queue API in a browser: `https://app.example.com`, or `*`. Default: none. */
  corsOrigins: string[];
  /** Domains of the host form of load-balancing endpoints, `{endpoint_id}.lb.example.com`. Default: localhost. */
  lbDomains: string[];
  /**
   * Domains under which everyone reaches the http ports of pods, `{pod_id}-8888.pods.example.com`. Default: none;
   * requests then need keys.
   */
  podDomains: string[];
  /** Longest wait of a request for a worker of a load-balancing endpoint, in milliseconds. */
  lbHoldMs: number;
  /** Longest time of such a request at its worker, in milliseconds. */
  lbProcessingMs: number;
  /** Longest silence of a WebSocket, in milliseconds. */
  lbSocketIdleMs: number;
  /** trace, debug, info, warn, error or silent. */
  logLevel: string;
  /** Form of log lines. SLIPWAY_LOG_FORMAT, default auto: text on a terminal, else JSON. */
  logFormat: LogFormat;
  /** host:port on which Prometheus reads metrics. Port 0: any free port. Empty: metrics are off. */
  metricsListen: string;
  /** Base URL of an OpenTelemetry collector that accepts OTLP over HTTP. Empty: tracing is off. */
  otlpEndpoint: string;
  /** Percentage of the requests without a traceparent header that are traced. */
  tracePercent: number;
}

/** Reads the settings. Throws ConfigError that lists all faults. */
export function readFacadeConfig(env: Readonly<Record<string, string | undefined>> = process.env): FacadeConfig {
  const reader = new EnvReader(env);
  const coreTls = readCoreTls(reader);
  const config: FacadeConfig = {
    coreAddresses: reader.list('SLIPWAY_CORE_ADDRESS', ['127.0.0.1:50051']).map((address) => withTls(address, coreTls)),
    coreTls,
    httpHost: reader.text('SLIPWAY_HTTP_HOST', '127.0.0.1'),
    httpPort: reader.integer('SLIPWAY_HTTP_PORT', 8080, 0, 65_535),
    httpCertFile: reader.text('SLIPWAY_HTTP_CERT_FILE', ''),
    httpCertKeyFile: reader.text('SLIPWAY_HTTP_CERT_KEY_FILE', ''),
    streamShape: reader.choice('SLIPWAY_STREAM_SHAPE', ['auto', 'seed', 'sdk'], 'auto'),
    requestsPerWorker: reader.integer('SLIPWAY_REQUESTS_PER_WORKER', 100, 0, 1_000_000),
    concurrencyPerWorker: reader.integer('SLIPWAY_CONCURRENCY_PER_WORKER', 20, 0, 100_000),
    connectionsPerAddress: reader.integer('SLIPWAY_CONNECTIONS_PER_ADDRESS', 5_000, 1, 10_000_000),
    rateLimits: reader.flag('SLIPWAY_RATE_LIMITS', true),
    bodyIdleMs: reader.integer('SLIPWAY_BODY_IDLE_MS', 15_000, 100, 300_000),
    bodyTotalMs: reader.integer('SLIPWAY_BODY_TOTAL_MS', 120_000, 100, 3_600_000),
    bodiesMib: reader.integer('SLIPWAY_BODIES_MIB', 512, 128, 1_048_576),
    answersMib: reader.integer('SLIPWAY_ANSWERS_MIB', 512, 128, 1_048_576),
    answerIdleMs: reader.integer('SLIPWAY_ANSWER_IDLE_MS', 30_000, 100, 3_600_000),
    openaiCancelOnDisconnect: reader.flag('SLIPWAY_OPENAI_CANCEL_ON_DISCONNECT', true),
    restDeleteAutoZero: reader.flag('SLIPWAY_REST_DELETE_AUTO_ZERO', false),
    graphqlAtStart: reader.flag('SLIPWAY_GRAPHQL_AT_START', true),
    edgeKeys: readEdgeKeys(reader),
    trustedProxies: reader.list('SLIPWAY_TRUSTED_PROXIES', ['127.0.0.0/8', '::1']),
    corsOrigins: corsOrigins(reader),
    lbDomains: reader.list('SLIPWAY_LB_DOMAINS', ['localhost']).map((domain) => domain.toLowerCase()),
    podDomains: reader.list('SLIPWAY_POD_DOMAINS', []).map((domain) => domain.toLowerCase()),
    lbHoldMs: reader.integer('SLIPWAY_LB_HOLD_MS', LB_HOLD_MS_DEFAULT, 100, 3_600_000),
    lbProcessingMs: reader.integer('SLIPWAY_LB_PROCESSING_MS', LB_PROCESSING_MS_DEFAULT, 100, 86_400_000),
    lbSocketIdleMs: reader.integer('SLIPWAY_LB_SOCKET_IDLE_MS', LB_SOCKET_IDLE_MS_DEFAULT, 100, 86_400_000),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
    logFormat: reader.choice('SLIPWAY_LOG_FORMAT', LOG_FORMATS, 'auto'),
    metricsListen: reader.text('SLIPWAY_METRICS_LISTEN', ''),
    otlpEndpoint: reader.text('OTEL_EXPORTER_OTLP_ENDPOINT', ''),
    tracePercent: reader.integer('SLIPWAY_TRACE_PERCENT', 10, 0, 100),
  };
  checkAddresses(config.coreAddresses, reader);
  checkCertificate(config, reader);
  for (const text of config.trustedProxies) {
    if (!parseNetwork(text))
      reader.fault(
        `SLIPWAY_TRUSTED_PROXIES holds ${JSON.stringify(text)}, but must be addresses or networks, as 10.0.0.0/8`,
      );
  }
  for (const fault of tlsFaults(config.coreTls)) reader.fault(fault);
  for (const fault of [metricsListenFault(config.metricsListen), otlpEndpointFault(config.otlpEndpoint)])
    if (fault !== undefined) reader.fault(fault);
  reader.finish();
  return config;
}

function checkCertificate({ httpCertFile, httpCertKeyFile }: FacadeConfig, reader: EnvReader): void {
  if ((httpCertFile === '') !== (httpCertKeyFile === ''))
    return reader.fault('SLIPWAY_HTTP_CERT_FILE and SLIPWAY_HTTP_CERT_KEY_FILE belong together, but only one is set');
  if (httpCertFile === '') return;
  try {
    certifiedFiles(httpCertFile, httpCertKeyFile).current();
  } catch (error) {
    reader.fault(`SLIPWAY_HTTP_CERT_FILE and SLIPWAY_HTTP_CERT_KEY_FILE cannot be used: ${(error as Error).message}`);
  }
}

function corsOrigins(reader: EnvReader): string[] {
  const origins = reader.list('SLIPWAY_CORS_ORIGINS', []);
  for (const text of origins) {
    if (text !== '*' && (!URL.canParse(text) || new URL(text).origin !== text)) {
      reader.fault(
        `SLIPWAY_CORS_ORIGINS holds ${JSON.stringify(text)}, but must be origins as browsers send them, as ` +
          'https://app.example.com, or *',
      );
    }
  }
  return origins;
}

function checkAddresses(addresses: readonly string[], reader: EnvReader): void {
  if (addresses.length === 0) reader.fault('SLIPWAY_CORE_ADDRESS names no address');
  for (const address of addresses) {
    if (!parseAddress(address))
      reader.fault(`SLIPWAY_CORE_ADDRESS holds ${JSON.stringify(address)}, but must be ${ADDRESS_FORMS}`);
  }
}
