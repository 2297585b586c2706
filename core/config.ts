/** The configuration of core: the only place that reads its environment. */

import { EnvReader } from '@slipway/kit/host/env';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import { authorityFile } from '@slipway/kit/net/renewed-files';
import { otlpEndpointFault } from '@slipway/kit/observe/tracing';
import type { PrivateWebhooks } from './domain/jobs/webhook-url.ts';

/** Every variable is listed in docs/operate/operations.md. Secrets may come by file: SLIPWAY_…_FILE. */
export interface CoreConfig {
  /** postgres:// URL. A secret: it holds a password. */
  databaseUrl: string;
  /** host:port to listen on; port 0 = any free one. */
  listen: string;
  /** host:port at which other replicas reach this one; empty = where it listens. */
  advertise: string;
  /** A secret. The operator's key; empty = there is none, and accounts and agent keys cannot be made. */
  rootKey: string;
  /** A secret. What edges name themselves with to be told where workers are; empty = none is told. */
  edgeKey: string;
  /** A secret. 64 hex digits; seals secrets. */
  secretKey: string;
  /** Whose webhooks may point to private addresses. */
  webhookAllowPrivate: PrivateWebhooks;
  /** Registries of images that may be at private addresses. */
  privateRegistries: PrivateRegistries;
  /**
   * PEM file of authorities that count for webhooks besides those that the machine trusts; read anew when it changes.
   * Empty: none.
   */
  webhookCaFile: string;
  /** host:port at which Prometheus reads metrics; port 0 = any free one; empty = nowhere. */
  metricsListen: string;
  /** Endpoints with series of their own in metrics; all others are "other". */
  metricsEndpointsMax: number;
  /** Base URL of an OpenTelemetry collector that takes OTLP over HTTP; empty = nothing is traced. */
  otlpEndpoint: string;
  logLevel: string;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const ROOT_KEY_LENGTH_MIN = 20;
/** Different characters of it: one that was made by chance has more. */
const ROOT_KEY_CHARACTERS_MIN = 8;

/** Reads and checks everything; ConfigError lists every fault. */
export function readCoreConfig(env: Readonly<Record<string, string | undefined>> = process.env): CoreConfig {
  const reader = new EnvReader(env);
  const config: CoreConfig = {
    databaseUrl: reader.secret('SLIPWAY_DATABASE_URL'),
    listen: reader.text('SLIPWAY_CORE_LISTEN', '127.0.0.1:50051'),
    advertise: reader.text('SLIPWAY_CORE_ADVERTISE', ''),
    rootKey: reader.secret('SLIPWAY_ROOT_KEY', ''),
    edgeKey: reader.secret('SLIPWAY_EDGE_KEY', ''),
    secretKey: reader.secret('SLIPWAY_SECRET_KEY'),
    webhookAllowPrivate: reader.flagOrList('SLIPWAY_WEBHOOK_ALLOW_PRIVATE', false),
    privateRegistries: reader.flagOrList('SLIPWAY_PRIVATE_REGISTRIES', false),
    webhookCaFile: checkPem(reader, 'SLIPWAY_WEBHOOK_CA_FILE'),
    metricsListen: reader.text('SLIPWAY_METRICS_LISTEN', ''),
    metricsEndpointsMax: reader.integer('SLIPWAY_METRICS_ENDPOINTS_MAX', 200, 0, 10_000),
    otlpEndpoint: reader.text('OTEL_EXPORTER_OTLP_ENDPOINT', ''),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', LEVELS, 'info'),
  };
  if (config.databaseUrl !== '' && !/^postgres(ql)?:\/\//.test(config.databaseUrl)) {
    reader.fault('SLIPWAY_DATABASE_URL must start with postgres://');
  }
  for (const [name, address] of [
    ['SLIPWAY_CORE_LISTEN', config.listen],
    ['SLIPWAY_CORE_ADVERTISE', config.advertise],
    ['SLIPWAY_METRICS_LISTEN', config.metricsListen],
  ] as const) {
    if (address !== '' && !isAddress(address))
      reader.fault(`${name} is ${JSON.stringify(address)}, but must be host:port`);
  }
  for (const [name, key] of [
    ['SLIPWAY_ROOT_KEY', config.rootKey],
    ['SLIPWAY_EDGE_KEY', config.edgeKey],
  ] as const) {
    if (key !== '' && key.length < ROOT_KEY_LENGTH_MIN)
      reader.fault(`${name} must have at least ${ROOT_KEY_LENGTH_MIN} characters`);
  }
  if (config.rootKey.length >= ROOT_KEY_LENGTH_MIN && new Set(config.rootKey).size < ROOT_KEY_CHARACTERS_MIN) {
    reader.fault(
      `SLIPWAY_ROOT_KEY has fewer than ${ROOT_KEY_CHARACTERS_MIN} different characters and can be guessed: make one with openssl rand -hex 32`,
    );
  }
  const traceFault = otlpEndpointFault(config.otlpEndpoint);
  if (traceFault !== undefined) reader.fault(traceFault);
  if (config.secretKey !== '' && !/^[0-9a-f]{64}$/i.test(config.secretKey))
    reader.fault('SLIPWAY_SECRET_KEY must be 64 hex digits');
  reader.finish();
  return Object.freeze(config);
}

/** Returns the path of a file of certificates that a setting names; empty if it names none. */
function checkPem(reader: EnvReader, name: string): string {
  const path = reader.text(name, '');
  if (path === '') return '';
  try {
    authorityFile(path).current();
  } catch (error) {
    reader.fault(`${name}: ${(error as Error).message}`);
  }
  return path;
}

function isAddress(text: string): boolean {
  const port = /^(?:[\w.-]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}
