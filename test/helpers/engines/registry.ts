/** A real private registry for one test: Debian's docker-registry with one user. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import root from 'tap';
import { quietPort } from '../net/ports.ts';
import type { TestEngine } from '../system/test-engine.ts';
import { waitFor } from '../time/wait-for.ts';

const run = promisify(execFile);

/** The reason why there is no registry, in one line; else false. */
export const registrySkip: string | false =
  existsSync('/usr/bin/docker-registry') && existsSync('/usr/bin/htpasswd')
    ? false
    : 'needs docker-registry apache2-utils';

/** Credentials of the user who may pull and push. */
export const REGISTRY_USER = { username: 'alice', password: 'pa55-word' };

/** Starts a registry that the engine reads without TLS. It ends with the test's file. */
export async function startRegistry(engine: TestEngine) {
  const port = await quietPort();
  const folder = join(engine.folder, 'registry');
  mkdirSync(folder);
  const { username, password } = REGISTRY_USER;
  writeFileSync(join(folder, 'users'), execFileSync('htpasswd', ['-Bbn', '-C', '4', username, password]));
  writeFileSync(
    join(folder, 'settings.yml'),
    `
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: ${folder}/data}, delete: {enabled: true}}
http: {addr: "127.0.0.1:${port}"}
auth: {htpasswd: {realm: test, path: ${folder}/users}}
`,
  );
  const address = `127.0.0.1:${port}`;
  await engine.trustRegistry(address);
  let child: ReturnType<typeof spawn> | undefined;
  const start = async (): Promise<void> => {
    child = spawn('docker-registry', ['serve', join(folder, 'settings.yml')], { stdio: 'ignore' });
    engine.keepPid('registry', child.pid!);
    await waitFor('the registry to answer', async () => (await fetch(`http://${address}/v2/`)).status === 401);
  };
  const stop = async (): Promise<void> => {
    const gone = new Promise((resolve) => {
      child!.once('exit', resolve);
    });
    child!.kill();
    await gone;
  };
  await start();
  root.teardown(stop);
  return {
    address,
    start,
    stop,
    /** Pushes an image as `path:tag`. */
    push: async (image: string, name: string): Promise<string> => {
      await engine.push(image, `${address}/${name}`, REGISTRY_USER);
      return `${address}/${name}`;
    },
    /** Returns the digest of a tag. */
    digest: async (path: string, tag: string): Promise<string> => {
      const { stdout } = await run('curl', [
        '-sI',
        '-u',
        `${username}:${password}`,
        '-H',
        'Accept: application/vnd.oci.image.manifest.v1+json',
        `http://${address}/v2/${path}/manifests/${tag}`,
      ]);
      return /docker-content-digest: (\S+)/i.exec(stdout)?.[1] ?? '';
    },
  };
}
