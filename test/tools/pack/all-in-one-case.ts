/** The image `slipway`, everything in one: the line that it prints gets its answer, and its data outlives it. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Port at which it serves inside. */
const INSIDE = 8080;

/** Podman with the image. */
interface AllInOneCase {
  folder: string;
  podman(...args: string[]): Promise<string>;
}

/** Runs it as a part of a test, as docs/operate/containers.md says. */
export async function allInOneCase(t: Test, { folder, podman }: AllInOneCase): Promise<void> {
  await t.test('everything in one: the printed request is answered', async (t) => {
    const port = await quietPort();
    const data = join(folder, 'data');
    mkdirSync(data);
    const options = [
      '--read-only',
      '--tmpfs=/tmp',
      `--publish=127.0.0.1:${port}:${INSIDE}`,
      `--volume=${data}:/data:U`,
    ];
    const runsImage = (): Promise<string> => podman('run', '--detach', '--name=slipway', ...options, 'slipway');
    const printed = (): Promise<string> =>
      waitFor('the printed request', async () => {
        const state = await podman('inspect', '--format={{.State.Status}}', 'slipway');
        const said = await podman('logs', 'slipway');
        if (state !== 'running') throw new Error(said);
        return /curl -s [^]*?\}'/.exec(said)?.[0];
      });
    const answerTo = async (request: string): Promise<string> =>
      (await promisify(execFile)('sh', ['-c', request.replaceAll(`:${INSIDE}/`, `:${port}/`)])).stdout;

    await runsImage();
    const first = await printed();
    t.match(await answerTo(first), /"status":"COMPLETED".*SLIPWAY HARBOUR/s);
    await podman('healthcheck', 'run', 'slipway');
    await podman('stop', '--time=90', 'slipway');
    t.equal(await podman('inspect', '--format={{.State.ExitCode}}', 'slipway'), '0', 'it stops in order');
    await podman('rm', 'slipway');

    await runsImage();
    t.equal(await printed(), first, 'a new container has the endpoint and the key of its data');
    t.match(await answerTo(first), /"status":"COMPLETED"/);
    await podman('rm', '--force', '--time=60', 'slipway');
  });
}
