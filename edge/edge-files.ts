/**
 * The edge's folder: the rendered configuration, the files that point to its certificates, and a record of the running
 * Envoy. Only the edge's user may open it.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority, SERIAL_LENGTH } from '@slipway/kit/tls/authority';
import { digestOf } from '@slipway/kit/tls/pin';
import type { GoodPair } from './certificates.ts';
import { readAuthority, readPair } from './certificates.ts';
import type { EdgeConfig } from './config.ts';
import { EdgeFault } from './edge-fault.ts';
import { bootstrap } from './envoy-config/bootstrap.ts';
import { authoritySecret, certificateSecret, coreAuthoritySecret, SDS_FILES } from './envoy-config/tls.ts';
import type { Message } from './message.ts';

/** The Envoy that serves with this folder. */
export interface RunningEnvoy {
  pid: number;
  /** Distinguishes series of hot restarts on one machine. */
  baseId: number;
  /** Number of this Envoy in its series of hot restarts. */
  epoch: number;
}

const RUNNING_FILE = 'running.json';

/**
 * Checks the files that the operator named, before anything is written. Returns the certificate, if there is one.
 * Throws EdgeFault.
 */
export function checkFiles({ certificate, agentClients, dataDir }: EdgeConfig): GoodPair | undefined {
  const checked = <Found>(what: string, check: () => Found): Found => {
    try {
      return check();
    } catch (error) {
      throw new EdgeFault(`${what}: ${(error as Error).message}`);
    }
  };
  checked('The folder of the edge cannot be used (--data-dir)', () =>
    mkdirSync(dataDir, { recursive: true, mode: 0o700 }),
  );
  if (agentClients)
    checked('The authority of agents cannot be used (--agent-ca-file)', () => readAuthority(agentClients));
  return (
    certificate && checked('The certificate cannot be used (--cert-file, --cert-key-file)', () => readPair(certificate))
  );
}

/**
 * Writes everything that an Envoy of this epoch reads. Returns the path of its configuration. `instance`: see
 * `bootstrap`.
 */
export function writeEdgeFiles(config: EdgeConfig, epoch: number, instance = ''): string {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  writeCertificate(config, 0);
  writeAuthority(config, 0);
  if (config.coreTls && !existsSync(join(config.dataDir, SDS_FILES.core))) writeCoreTrust(config, undefined);
  const file = configFile(config.dataDir, epoch);
  replace(file, bootstrap(config, epoch, instance));
  return file;
}

/** Writes the file that points to the certificate again, so that Envoy reads the certificate. */
export function writeCertificate(config: EdgeConfig, revision: number): void {
  if (config.certificate)
    replace(join(config.dataDir, SDS_FILES.certificate), certificateSecret(config.certificate, revision));
}

/** Does the same for the authority of the agents' certificates. */
export function writeAuthority({ dataDir, agentClients }: EdgeConfig, revision: number): void {
  if (agentClients) replace(join(dataDir, SDS_FILES.authority), authoritySecret(agentClients, revision));
}

/** Writes the authorities by which Envoy trusts core, in PEM. `undefined`: it trusts no server. */
export function writeCoreTrust({ dataDir, cores }: EdgeConfig, authorities: string | undefined): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  replace(join(dataDir, SDS_FILES.core), coreAuthoritySecret(authorities ?? nobody(), cores));
}

/** Returns the authorities that were written last, if they fit the digests of the settings. */
export function readCoreTrust({ dataDir, coreTls }: EdgeConfig): string | undefined {
  const file = join(dataDir, SDS_FILES.core);
  if (!existsSync(file)) return undefined;
  const pem = JSON.parse(readFileSync(file, 'utf8')).resources[0].validation_context.trusted_ca.inline_string as string;
  const digests = pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((each) => digestOf(new X509Certificate(each)));
  return digests.some((digest) => coreTls?.caDigests?.includes(digest)) ? pem : undefined;
}

/** Returns an authority whose key was discarded. Without any authority Envoy would trust every server. */
function nobody(): string {
  return createAuthority('nobody', 0, Buffer.alloc(SERIAL_LENGTH)).certificate;
}

/** Returns the Envoy that serves with this folder; `undefined` if none does. */
export function readRunning(dataDir: string): RunningEnvoy | undefined {
  try {
    const running = JSON.parse(readFileSync(join(dataDir, RUNNING_FILE), 'utf8')) as RunningEnvoy;
    process.kill(running.pid, 0);
    const isThere = !hasEnded(running.pid) && isEnvoyOf(running.pid, configFile(dataDir, running.epoch));
    return isThere ? running : undefined;
  } catch {
    return undefined;
  }
}

function configFile(dataDir: string, epoch: number): string {
  return join(dataDir, `envoy-${epoch}.json`);
}

/**
 * Returns true if the process runs with this configuration. After a restart of the machine another process may have the
 * id of the last Envoy. Without /proc every process counts as one.
 */
function isEnvoyOf(pid: number, file: string): boolean {
  if (!existsSync('/proc/self/cmdline')) return true;
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return realpathSync(words[words.indexOf('-c') + 1]!) === realpathSync(file);
}

/**
 * Returns true if the process has ended and only its parent has not noticed (a zombie). In some containers no parent
 * ever does.
 */
function hasEnded(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && /\) Z /.test(readFileSync(stat, 'utf8'));
}

/** Records the running Envoy for a successor. */
export function writeRunning(dataDir: string, running: RunningEnvoy): void {
  replace(join(dataDir, RUNNING_FILE), { ...running });
}

/** Replaces a file by a rename. Envoy watches for renames, and so never reads half a file. */
function replace(file: string, content: Message): void {
  writeFileSync(`${file}.new`, JSON.stringify(content, null, 2), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
