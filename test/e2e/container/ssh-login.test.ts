// test: alone, postgres, 30 s
/**
 * Logins into a pod with OpenSSH's client and server: with the keys of the account and no others, at the address that
 * `ssh.direct` names.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { makeSshImage, sshSkip, VOLUME } from '../../helpers/engines/ssh-image.ts';
import { scratch } from '../../helpers/scratch.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const run = promisify(execFile);
const IMAGE = 'localhost/ssh-pod:1';
/** Exit code of the client if it could not log in. */
const NO_LOGIN = 255;
/** Bytes that a command gets and sends back. */
const BYTES = 3_000_000;

interface Pod {
  id: string;
  env: Record<string, string>;
  ssh: { proxy: null; direct: { host: string; port: number; username: string; command: string } | null };
}

t.test('SSH into pods', { skip: podmanSkip || sshSkip }, async (t) => {
  const podman = await startPodman();
  await makeSshImage(podman, IMAGE);
  const system = await startSystem(t, {
    agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket, SLIPWAY_PUBLIC_HOST: 'localhost' },
  });
  const { path } = await scratch(t);
  const publicKeys: Record<string, string> = {};
  for (const name of ['mine', 'other']) {
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', `${name} key`, '-f', path(name)]);
    publicKeys[name] = readFileSync(path(`${name}.pub`), 'utf8').trim();
  }
  const v2 = async <T = Pod>(method: string, at: string, body?: object): Promise<T> => {
    const { status, json, text } = await system.request(method, `/v2/${at}`, body);
    t.ok(status < 300, `${method} ${at}: ${status} ${text}`);
    return json as unknown as T;
  };
  const create = (more: object): Promise<Pod> =>
    waitFor('a machine', async () => {
      const body = { name: 'box', image: IMAGE, cpu: { id: 'cpu3c', vcpuCount: 2 }, ports: ['22/tcp'], ...more };
      const { status, json } = await system.request('POST', '/v2/pods', body);
      return status === 201 && (json as unknown as Pod);
    });
  const direct = (id: string) =>
    waitFor('its address', async () => {
      const { json } = await system.request('GET', `/v2/pods/${id}`);
      return (json as unknown as Pod).ssh.direct;
    });

  /** Runs a command in the pod by the very command that `ssh.direct` names. */
  const login = async (id: string, key: string, command: readonly string[], input: string | Buffer = '') => {
    const [program, ...where] = (await direct(id)).command.split(' ');
    const options = Object.entries({
      BatchMode: 'yes',
      IdentitiesOnly: 'yes',
      StrictHostKeyChecking: 'accept-new',
      UserKnownHostsFile: path(`${id}-hosts`),
      GlobalKnownHostsFile: '/dev/null',
      LogLevel: 'ERROR',
    }).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const args = ['-F', '/dev/null', '-i', path(key), ...options, ...where, ...command];
    return new Promise<{ code: number; output: Buffer; faults: string }>((resolve) => {
      const child = execFile(
        program!,
        args,
        { encoding: 'buffer', maxBuffer: 4 * BYTES, timeout: 60_000 },
        (error, output, faults) => resolve({ code: error ? Number(error.code) : 0, output, faults: String(faults) }),
      );
      child.stdin!.on('error', () => undefined);
      child.stdin!.end(input);
    });
  };
  const reach = (id: string, key: string) =>
    waitFor('its server', async () => {
      const { code, output, faults } = await login(id, key, ['id -u']);
      if (code !== 0) throw new Error(faults);
      return String(output);
    });
  const refuses = async (id: string, key: string, what: string) => {
    const { code, faults } = await login(id, key, ['id -u']);
    t.equal(code, NO_LOGIN, what);
    t.match(faults, /Permission denied \(publickey\)/, what);
  };

  await v2('PUT', 'account/ssh-keys', { keys: [publicKeys['mine']] });
  const pod = await create({ startSsh: true, mounts: { persistent: { size: 10, path: VOLUME } } });

  await t.test('with a key of the account, and no other', async (t) => {
    t.equal(await reach(pod.id, 'mine'), '0\n', 'as root');
    t.match(await direct(pod.id), { host: 'localhost', port: Number, username: 'root' });
    const sent = Buffer.from(Uint8Array.from({ length: BYTES }, (_, index) => index ^ (index >> 8)));
    const { output } = await login(pod.id, 'mine', ['cat'], sent);
    t.ok(output.equals(sent), 'bytes in both directions');
    t.equal((await login(pod.id, 'mine', ['exit 7'])).code, 7, 'the exit code of the command');
    t.match(String((await login(pod.id, 'mine', ['-tt', 'test -t 0 && echo a terminal'])).output), /a terminal/);
    await refuses(pod.id, 'other', 'a key that is not of the account');
  });

  await t.test('after a restart: the same host, with the keys that the account has by then', async (t) => {
    const query = `mutation { updateUserSettings(input: { pubKey: "${publicKeys['other']}" }) { id } }`;
    t.equal((await system.request('POST', '/graphql', { query })).status, 200);
    await v2('POST', `pods/${pod.id}/action`, { action: 'restart' });
    t.equal(await reach(pod.id, 'other'), '0\n');
    await refuses(pod.id, 'mine', 'a key that was removed');
  });

  await t.test('startSsh false gives the pod no key', async () => {
    await v2('DELETE', `pods/${pod.id}`);
    const closed = await create({ startSsh: false });
    await waitFor('its server', async () => (await login(closed.id, 'other', ['id -u'])).faults.includes('Permission'));
    await refuses(closed.id, 'other', 'without a key');
  });
});
