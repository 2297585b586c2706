/** Reads the configuration of core. The only place that reads its environment. */

import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import { readEdgeKeys } from '@slipway/kit/host/edge-keys';
import { EnvReader } from '@slipway/kit/host/env';
import { Sealer } from '@slipway/kit/host/seal';
import type { LogFormat } from '@slipway/kit/log/log-text';
import { LOG_FORMATS } from '@slipway/kit/log/log-text';
import { isLoopback } from '@slipway/kit/net/address';
import type { PrivateRegistries } from '@slipway/kit/net/private-registries';
import { authorityFile } from '@slipway/kit/net/renewed-files';
import { otlpEndpointFault } from '@slipway/kit/observe/tracing';
import type { S3Config } from './backup/s3-config.ts';
import { isS3Address, readS3 } from './backup/s3-config.ts';
import type { PrivateWebhooks } from './domain/jobs/webhook-url.ts';
import { STANDBY_SECONDS } from './domain/machines/worker.ts';

/**
 * Settings of core. Every variable is listed in docs/operate/operations.md. Secrets may come from a file:
 * SLIPWAY_…_FILE.
 */
export interface CoreConfig {
  /** postgres:// URL. Secret: it contains a password. */
  databaseUrl: string;
  /** File that the URL came from, read again for the password of each new connection. Empty: there is none. */
  databaseUrlFile: string;
  /** A folder of the database's disk on this machine, to warn before that is full. Empty: none. */
  databaseDir: string;
  /** Runs on a database that a newer release has migrated, if that one allows it. */
  allowNewerDatabase: boolean;
  /** Longest wait for an answer of the database, in milliseconds. It grows while the database is slow, not silent. */
  databaseAnswerMs: number;
  /** Addresses to listen on, at least one. */
  listen: ListenAddress[];
  /** Names and addresses of this replica for its certificate, in addition to detected ones. */
  tlsNames: string[];
  /** PEM file of the operator's own certificate with its chain. Empty: one of the installation's own authority. */
  tlsCertFile: string;
  /** PEM file of its private key. */
  tlsKeyFile: string;
  /** Address at which other replicas reach this one, host:port. Empty: the address that it listens on. */
  advertise: string;
  /** The operator's key. Secret. Empty: there is none, and accounts and agent keys cannot be created. */
  rootKey: string;
  /** The operator's key before this one, which is valid too while the two are exchanged. Empty: there is none. */
  previousRootKey: string;
  /** Keys with which edges authenticate to get the addresses of workers. Secret. None: no edge is served. */
  edgeKeys: EdgeKeys;
  /** Key that encrypts secrets: 64 hex digits. Secret. */
  secretKey: string;
  /** Another key that opens what it sealed, while the two are exchanged: 64 hex digits. Secret. Empty: none. */
  nextSecretKey: string;
  /** Accounts whose webhooks may point to private addresses. */
  webhookAllowPrivate: PrivateWebhooks;
  /** Address of the hub that models come from, or of a mirror with its routes. Without a slash at its end. */
  modelHub: string;
  /** Image registries that may have private addresses. */
  privateRegistries: PrivateRegistries;
  /**
   * PEM file of authorities that are trusted for webhooks in addition to those of the machine. Read again when it
   * changes. Empty: none.
   */
  webhookCaFile: string;
  /** Address at which Prometheus reads metrics, host:port. Port 0: any free one. Empty: no metrics. */
  metricsListen: string;
  /** smtp:// or smtps:// URL of the server that alerts are mailed through. Secret. Empty: no alert is mailed. */
  smtpUrl: string;
  /** Address that mailed alerts are from. */
  mailFrom: string;
  /** Most endpoints with their own series in metrics. All others are "other". */
  metricsEndpointsMax: number;
  /** Most files of an account, and gigabytes of its files and results of batches. */
  accountFilesMax: number;
  accountFileGb: number;
  /** Days for which changes, and metered time that has ended, are kept. 0: for ever. */
  auditDays: number;
  usageDays: number;
  /** Longest time that a worker on standby keeps its memory on its GPUs, in seconds. */
  standbySeconds: number;
  /** Base URL of an OpenTelemetry collector that accepts OTLP over HTTP. Empty: no traces. */
  otlpEndpoint: string;
  logLevel: string;
  /** Form of log lines. SLIPWAY_LOG_FORMAT, default auto: text on a terminal, else JSON. */
  logFormat: LogFormat;
}

/** An address to listen on. */
export interface ListenAddress {
  /** host:port. Port 0: any free one. */
  address: string;
  /** By TLS. */
  secure: boolean;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
const ROOT_KEY_LENGTH_MIN = 20;
/** Least number of different characters in the key. A random key has more. */
const ROOT_KEY_CHARACTERS_MIN = 8;

/** Reads and checks all settings. Throws a ConfigError that lists every fault. */
export function readCoreConfig(env: Readonly<Record<string, string | undefined>> = process.env): CoreConfig {
  const reader = new EnvReader(env);
  const config: CoreConfig = {
    databaseUrl: reader.secret('SLIPWAY_DATABASE_URL'),
    databaseUrlFile: reader.text('SLIPWAY_DATABASE_URL_FILE', ''),
    databaseDir: reader.text('SLIPWAY_DATABASE_DIR', ''),
    allowNewerDatabase: reader.flag('SLIPWAY_ALLOW_NEWER_DATABASE', false),
    databaseAnswerMs: reader.integer('SLIPWAY_DATABASE_ANSWER_MS', 5_000, 1_000, 60_000),
    listen: readListen(reader),
    tlsNames: reader.list('SLIPWAY_CORE_NAMES', []),
    tlsCertFile: reader.text('SLIPWAY_CORE_TLS_CERT_FILE', ''),
    tlsKeyFile: reader.text('SLIPWAY_CORE_TLS_KEY_FILE', ''),
    advertise: reader.text('SLIPWAY_CORE_ADVERTISE', ''),
    rootKey: reader.secret('SLIPWAY_ROOT_KEY', ''),
    previousRootKey: reader.secret('SLIPWAY_PREVIOUS_ROOT_KEY', ''),
    edgeKeys: readEdgeKeys(reader),
    secretKey: reader.secret('SLIPWAY_SECRET_KEY'),
    nextSecretKey: reader.secret('SLIPWAY_NEXT_SECRET_KEY', ''),
    webhookAllowPrivate: reader.flagOrList('SLIPWAY_WEBHOOK_ALLOW_PRIVATE', false),
    privateRegistries: reader.flagOrList('SLIPWAY_PRIVATE_REGISTRIES', false),
    modelHub: reader.text('SLIPWAY_MODEL_HUB', 'https://huggingface.co').replace(/\/+$/, ''),
    webhookCaFile: checkPem(reader, 'SLIPWAY_WEBHOOK_CA_FILE'),
    smtpUrl: reader.secret('SLIPWAY_SMTP_URL', ''),
    mailFrom: reader.text('SLIPWAY_MAIL_FROM', ''),
    metricsListen: reader.text('SLIPWAY_METRICS_LISTEN', ''),
    metricsEndpointsMax: reader.integer('SLIPWAY_METRICS_ENDPOINTS_MAX', 200, 0, 10_000),
    accountFilesMax: reader.integer('SLIPWAY_ACCOUNT_FILES_MAX', 1_000, 0, 100_000),
    accountFileGb: reader.integer('SLIPWAY_ACCOUNT_FILES_GB', 10, 0, 100_000),
    auditDays: reader.integer('SLIPWAY_AUDIT_DAYS', 400, 0, 36_500),
    usageDays: reader.integer('SLIPWAY_USAGE_DAYS', 1_100, 0, 36_500),
    standbySeconds: reader.integer('SLIPWAY_STANDBY_SECONDS', STANDBY_SECONDS, 1, 31_536_000),
    otlpEndpoint: reader.text('OTEL_EXPORTER_OTLP_ENDPOINT', ''),
    logLevel: reader.choice('SLIPWAY_LOG_LEVEL', LEVELS, 'info'),
    logFormat: reader.choice('SLIPWAY_LOG_FORMAT', LOG_FORMATS, 'auto'),
  };
  checkDatabaseUrl(reader, config.databaseUrl);
  for (const [name, address] of [
    ...config.listen.map(({ address }) => ['SLIPWAY_CORE_LISTEN', address] as const),
    ['SLIPWAY_CORE_ADVERTISE', config.advertise],
    ['SLIPWAY_METRICS_LISTEN', config.metricsListen],
  ] as const) {
    if (address !== '' && !isAddress(address))
      reader.fault(`${name} is ${JSON.stringify(address)}, but must be host:port`);
  }
  for (const [name, key] of [
    ['SLIPWAY_ROOT_KEY', config.rootKey],
    ['SLIPWAY_PREVIOUS_ROOT_KEY', config.previousRootKey],
    ['SLIPWAY_EDGE_KEY', config.edgeKeys[0] ?? ''],
    ['SLIPWAY_OTHER_EDGE_KEY', config.edgeKeys[1] ?? ''],
  ] as const) {
    if (key !== '' && key.length < ROOT_KEY_LENGTH_MIN)
      reader.fault(`${name} must have at least ${ROOT_KEY_LENGTH_MIN} characters`);
  }
  if (config.rootKey.length >= ROOT_KEY_LENGTH_MIN && new Set(config.rootKey).size < ROOT_KEY_CHARACTERS_MIN) {
    reader.fault(
      `SLIPWAY_ROOT_KEY has fewer than ${ROOT_KEY_CHARACTERS_MIN} different characters and can be guessed: make ` +
        'one with openssl rand -hex 32',
    );
  }
  if ((config.tlsCertFile === '') !== (config.tlsKeyFile === ''))
    reader.fault('SLIPWAY_CORE_TLS_CERT_FILE and SLIPWAY_CORE_TLS_KEY_FILE belong together, but only one is set');
  if (!isHubAddress(config.modelHub))
    reader.fault('SLIPWAY_MODEL_HUB must be an http:// or https:// address without a query or credentials');
  checkMail(reader, config);
  const traceFault = otlpEndpointFault(config.otlpEndpoint);
  if (traceFault !== undefined) reader.fault(traceFault);
  checkSecretKeys(reader, config);
  reader.finish();
  return Object.freeze(config);
}

/** Settings of a backup or restore. */
interface BackupConfig extends Pick<CoreConfig, 'databaseUrl' | 'secretKey' | 'nextSecretKey'> {
  /** The object of S3. `undefined`: it is a file. */
  s3: S3Config | undefined;
}

/**
 * Reads the settings of a backup or restore, which are core's: a backup needs the database, a check the secret key, a
 * restore both. `file`: what it is written to or read from. Throws ConfigError.
 */
export function readBackupConfig(
  action: 'backup' | 'check' | 'restore',
  file: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): BackupConfig {
  const reader = new EnvReader(env);
  const databaseUrl = action === 'check' ? '' : reader.secret('SLIPWAY_DATABASE_URL');
  const secretKey = action === 'backup' ? '' : reader.secret('SLIPWAY_SECRET_KEY');
  const nextSecretKey = action === 'backup' ? '' : reader.secret('SLIPWAY_NEXT_SECRET_KEY', '');
  checkDatabaseUrl(reader, databaseUrl);
  checkSecretKeys(reader, { secretKey, nextSecretKey });
  const s3 = isS3Address(file) ? readS3(reader, file) : undefined;
  reader.finish();
  return { databaseUrl, secretKey, nextSecretKey, s3 };
}

function checkDatabaseUrl(reader: EnvReader, url: string): void {
  if (url !== '' && !/^postgres(ql)?:\/\//.test(url)) reader.fault('SLIPWAY_DATABASE_URL must start with postgres://');
}

function checkMail(reader: EnvReader, { smtpUrl, mailFrom }: Pick<CoreConfig, 'smtpUrl' | 'mailFrom'>): void {
  if (smtpUrl !== '' && !(URL.canParse(smtpUrl) && /^smtps?:\/\/[^/?#]+\/?$/.test(smtpUrl)))
    reader.fault('SLIPWAY_SMTP_URL must be smtp:// or smtps:// with user, password, host and port, and no path');
  if ((smtpUrl === '') !== (mailFrom === ''))
    reader.fault('SLIPWAY_SMTP_URL and SLIPWAY_MAIL_FROM belong together, but only one is set');
  if (mailFrom !== '' && !/^[^\s@<>,"]+@[\w.-]+$/.test(mailFrom))
    reader.fault('SLIPWAY_MAIL_FROM must be one mail address');
}

function checkSecretKeys(
  reader: EnvReader,
  { secretKey, nextSecretKey }: Pick<CoreConfig, 'secretKey' | 'nextSecretKey'>,
): void {
  for (const [name, key] of [
    ['SLIPWAY_SECRET_KEY', secretKey],
    ['SLIPWAY_NEXT_SECRET_KEY', nextSecretKey],
  ] as const) {
    if (key !== '' && !/^[0-9a-f]{64}$/i.test(key)) reader.fault(`${name} must be 64 hex digits`);
  }
  if (nextSecretKey !== '' && nextSecretKey.toLowerCase() === secretKey.toLowerCase())
    reader.fault('SLIPWAY_NEXT_SECRET_KEY is the same as SLIPWAY_SECRET_KEY');
}

/**
 * Reads where core listens: by TLS, except on a loopback address. `grpcs://` asks for TLS there too; plain text
 * elsewhere needs an explicit setting, because keys are sent over it.
 */
function readListen(reader: EnvReader): ListenAddress[] {
  const isPlain = reader.flag('SLIPWAY_CORE_PLAINTEXT', false);
  const listed = reader.list('SLIPWAY_CORE_LISTEN', ['127.0.0.1:50051']);
  if (listed.length === 0) reader.fault('SLIPWAY_CORE_LISTEN names no address');
  return listed.map((text) => {
    const address = text.replace(/^grpcs:\/\//, '');
    const host = address.replace(/:\d+$/, '');
    return { address, secure: address !== text || !(isPlain || isLoopback(host)) };
  });
}

/** Returns the sealer with the secret keys of the settings. */
export function sealerOf({ secretKey, nextSecretKey }: Pick<CoreConfig, 'secretKey' | 'nextSecretKey'>): Sealer {
  return nextSecretKey === '' ? new Sealer(secretKey) : new Sealer(secretKey, nextSecretKey);
}

/** Returns the path of a certificate file that a setting names. Empty if it names none. */
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

function isHubAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

function isAddress(text: string): boolean {
  const port = /^(?:[\w.-]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}
