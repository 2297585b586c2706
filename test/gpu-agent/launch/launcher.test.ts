/** Launches of workers and pods: mounts and their locations. */
import { join } from 'node:path';
import { WorkloadLauncher } from '@slipway/gpu-agent/launch/launcher';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { parseWorkerUser } from '@slipway/gpu-agent/users/worker-user-setting';
import { WorkerUsers } from '@slipway/gpu-agent/users/worker-users';
import { createLogger } from '@slipway/kit/log/logger';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { ScriptedExecutor } from '../scripted-executor.ts';

const logger = createLogger('test', 'silent');

/** Makes a launcher of a machine whose workers run as the agent's own user. */
function makeLauncher(t: Test): { launcher: WorkloadLauncher; folder: string } {
  const folder = t.testdir({});
  const launcher = new WorkloadLauncher({
    executors: { process: new ScriptedExecutor(), container: new ScriptedExecutor() },
    users: new WorkerUsers(parseWorkerUser('same')!, folder, logger),
    scratchFolder: join(folder, 'scratch'),
    volumes: new VolumeFolders(join(folder, 'volumes'), undefined, logger),
    machineName: 'box',
    locations: [],
    hostEnv: {},
    gpus: () => [],
    bridgeUrl: () => 'http://127.0.0.1:1',
    resolveImage: async () => '',
  });
  return { launcher, folder };
}

t.test("a network volume takes the place of the pod's own disk", async (t) => {
  const { launcher, folder } = makeLauncher(t);
  const mountsOf = async (more: Partial<WorkerSpec>) => {
    const spec = WorkerSpec.fromPartial({ imageName: 'a', accountNumber: 1, volumeMountPath: '/workspace', ...more });
    const { launch } = await launcher.pod({
      podId: 'p',
      run: 1,
      spec,
      openDisk: async () => ({ source: join(folder, 'disk') }),
      onOutput: () => undefined,
    });
    return launch.mounts.map(({ source, target }) => [source.replace(folder, ''), target]);
  };
  t.same(await mountsOf({}), [['/disk', '/workspace']]);
  const volumes = [{ networkVolumeId: 'abc', mountPath: '/workspace', sizeGb: 1 }];
  t.same(await mountsOf({ volumes }), [['/volumes/abc', '/workspace']], 'at the same place');
  t.same(
    await mountsOf({ volumes, volumeMountPath: '/workspace/' }),
    [['/volumes/abc', '/workspace']],
    'however that is written',
  );
  t.same(await mountsOf({ volumes, volumeMountPath: '' }), [['/volumes/abc', '/workspace']]);
});
