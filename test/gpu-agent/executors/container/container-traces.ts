/** What containers leave in their engine. */

import { statSync } from 'node:fs';
import Docker from 'dockerode';
import { BASE_IMAGE } from '../../../helpers/engines/podman-images.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

/**
 * Returns the id of a container that allocated 300 MiB under the given limit, ended and was removed while nothing
 * watched it.
 */
export async function goneContainer(engine: TestEngine, mebibytes: number): Promise<string> {
  const docker = new Docker({ socketPath: engine.socket });
  const Cmd = ['python3', '-c', 'a = bytearray(300 << 20)'];
  const container = await docker.createContainer({
    Image: BASE_IMAGE,
    Cmd,
    HostConfig: { Memory: mebibytes << 20, NetworkMode: 'none' },
  });
  await container.start();
  await container.wait();
  await container.remove();
  return container.id;
}

/** Writes many times what an engine keeps of its output, then lives on. */
export const TALKS =
  'while [ ! -e /data/go ]; do sleep 0.02; done; python3 -c "for _ in range(24000): print(999 * chr(120))"; ' +
  'echo said; while [ ! -e /data/end ]; do sleep 0.05; done';

/** Bytes of the file that an engine keeps a container's output in. */
export async function logBytes(engine: TestEngine, name: string): Promise<number> {
  const { LogPath } = (await new Docker({ socketPath: engine.socket })
    .getContainer(name)
    .inspect()) as Docker.ContainerInspectInfo & { LogPath: string };
  // While an engine begins a new file, there is none of the name.
  const { size } = await waitFor('the log file', () => statSync(LogPath, { throwIfNoEntry: false }));
  return size;
}
