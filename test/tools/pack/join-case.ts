/** The line of `slipway machines token --for container`, run with Podman: the machine joins, works, keeps its id. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { serveEngine } from './engine-socket.ts';

const SOCKET = '/var/run/docker.sock';
const DATA_DIR = '/var/lib/slipway-agent';
const NAME = 'slipway-agent';
/** Containers of the agents' image that are no workers: `agent` of the test, and the one that joins. */
const AGENTS = 2;

/** Podman with the images of the parts, and a container `core` that serves TLS. */
interface JoinCase {
  folder: string;
  env: Readonly<Record<string, string>>;
  podman(...args: string[]): Promise<string>;
  version: string;
  /** Variables of the command line. */
  cli: Readonly<Record<string, string>>;
}

/** Runs it as a part of a test. */
export async function joinCase(t: Test, { folder, env, podman, version, cli }: JoinCase): Promise<void> {
  const image = `localhost/slipway-agent:${version}`;
  const given = Object.entries(cli).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const slipway = (...words: string[]): Promise<string> => podman('exec', ...given, 'core', 'slipway', ...words);
  await t.test('a machine joins as a container, by the printed line', async (t) => {
    await podman('tag', 'agent', image);
    const [socket, data] = [join(folder, 'join.sock'), join(folder, 'joined')];
    await serveEngine(t, socket, env);
    mkdirSync(data);
    const line = await slipway('machines', 'token', '--pool', 'racks', '--for', 'container');
    t.match(line, new RegExp(`^docker run -d --name ${NAME} .* ${image} agent --join 127\\.0\\.0\\.1:\\d+$`));
    // This host's engine, folder and port belong to others, and its root need not be a shared mount.
    const settings = `-e SLIPWAY_AGENT_DATA_DIR=${data} -e SLIPWAY_METRICS_LISTEN=127.0.0.1:${await quietPort()}`;
    const here = line
      .replace('docker run', `podman run ${settings}`)
      .replaceAll(SOCKET, socket)
      .replaceAll(DATA_DIR, data)
      .replace(':rshared', ':rprivate');
    await promisify(execFile)('sh', ['-c', here], { env });
    const joined = () =>
      waitFor('the machine to be connected', async () => {
        const machines = JSON.parse(await slipway('--json', 'machines')) as Record<string, unknown>[];
        return machines.find(({ pool, connected }) => pool === 'racks' && connected);
      });
    const { id } = await joined();

    const program = ['--image', image, '--entrypoint', 'node', '--disk', '5', '--', '/opt/slipway/hello.mjs'];
    const made = JSON.parse(await slipway('--json', 'templates', 'create', 'greets', ...program)) as { id: string };
    const place = ['--compute', 'cpu', '--location', 'pool:racks'];
    const endpoint = JSON.parse(await slipway('--json', 'endpoints', 'create', '--template', made.id, ...place)) as {
      id: string;
    };
    const greet = () => slipway('jobs', 'run', '-e', endpoint.id, '--wait', '-i', '{"name":"Ada"}');
    t.match(JSON.parse(await greet()), { hello: 'Ada' });

    await podman('restart', '--time=90', NAME);
    t.equal((await joined()).id, id, 'its folder has its identity: the token is used up');
    t.match(JSON.parse(await greet()), { hello: 'Ada' });
    await slipway('endpoints', 'update', endpoint.id, '--workers-min', '0', '--workers-max', '0');
    const containers = (): Promise<string> => podman('ps', '--quiet', `--filter=ancestor=${image}`);
    await waitFor('its worker to end', async () => (await containers()).split('\n').length <= AGENTS);
    await podman('stop', '--time=90', NAME);
    t.equal(await podman('inspect', '--format={{.State.ExitCode}}', NAME), '0', 'it stops in order');
    await podman('rm', NAME);
  });
}
