/**
 * The edge's folder: the rendered configuration, where its certificates are, and which Envoy runs. Nobody else may open
 * it.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GoodPair } from './certificates.ts';
import { readAuthority, readPair } from './certificates.ts';
import type { EdgeConfig } from './config.ts';
import { EdgeFault } from './edge-fault.ts';
import { bootstrap } from './envoy-config/bootstrap.ts';
import { authoritySecret, certificateSecret, SDS_FILES } from './envoy-config/tls.ts';
import type { Message } from './message.ts';

/** Which Envoy serves with this folder. */
export interface RunningEnvoy {
  pid: number;
  /** Tells rows of hot restarts apart on one machine. */
  baseId: number;
  /** Number in its row. */
  epoch: number;
}

const RUNNING_FILE = 'running.json';

/**
 * Looks at what the operator named, before anything is written; answers the certificate, where there is one. Fails with
 * EdgeFault.
 */
export function checkFiles({ certificate, agentClients, dataDir }: EdgeConfig): GoodPair | undefined {
  const looked = <Found>(what: string, look: () => Found): Found => {
    try {
      return look();
    } catch (error) {
      throw new EdgeFault(`${what}: ${(error as Error).message}`);
    }
  };
  looked('The folder of the edge cannot be used (--data-dir)', () =>
    mkdirSync(dataDir, { recursive: true, mode: 0o700 }),
  );
  if (agentClients)
    looked('The authority of agents cannot be used (--agent-ca-file)', () => readAuthority(agentClients));
  return (
    certificate && looked('The certificate cannot be used (--cert-file, --cert-key-file)', () => readPair(certificate))
  );
}

/**
 * Writes everything that an Envoy of this epoch reads; answers the file of its configuration. `instance` as in
 * bootstrap.
 */
export function writeEdgeFiles(config: EdgeConfig, epoch: number, instance = ''): string {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  writeCertificate(config, 0);
  writeAuthority(config, 0);
  const file = join(config.dataDir, `envoy-${epoch}.json`);
  replace(file, bootstrap(config, epoch, instance));
  return file;
}

/** Says anew where the certificate is; Envoy reads it then. */
export function writeCertificate(config: EdgeConfig, turn: number): void {
  if (config.certificate)
    replace(join(config.dataDir, SDS_FILES.certificate), certificateSecret(config.certificate, turn));
}

/** The same of the authority of agents. */
export function writeAuthority({ dataDir, agentClients }: EdgeConfig, turn: number): void {
  if (agentClients) replace(join(dataDir, SDS_FILES.authority), authoritySecret(agentClients, turn));
}

/** The Envoy that serves with this folder; undefined: none does. */
export function readRunning(dataDir: string): RunningEnvoy | undefined {
  try {
    const running = JSON.parse(readFileSync(join(dataDir, RUNNING_FILE), 'utf8')) as RunningEnvoy;
    process.kill(running.pid, 0);
    return hasEnded(running.pid) ? undefined : running;
  } catch {
    return undefined;
  }
}

/** It has, but whoever inherited it has not noticed: in some containers nobody does. */
function hasEnded(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && /\) Z /.test(readFileSync(stat, 'utf8'));
}

/** Keeps it for a successor. */
export function writeRunning(dataDir: string, running: RunningEnvoy): void {
  replace(join(dataDir, RUNNING_FILE), { ...running });
}

/** By a rename: Envoy watches for that, and never reads half a file. */
function replace(file: string, content: Message): void {
  writeFileSync(`${file}.new`, JSON.stringify(content, null, 2), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
