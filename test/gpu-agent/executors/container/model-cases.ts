/**
 * A model as an image and as a command of the host find it, on a real engine: read-only, inside of a network volume
 * too, and with a cache around it into which programs may write.
 */
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import type { Launch } from '@slipway/gpu-agent/executors/executor';
import { HostViews } from '@slipway/gpu-agent/executors/process/host-views';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { ViewingExecutor } from '@slipway/gpu-agent/executors/process/viewing-executor';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { WorkerModels } from '@slipway/gpu-agent/launch/worker-models';
import { tryAs } from '@slipway/kit/host/host-user';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import { freshId, launchOf, makeExecutor, startContainer } from '../../../helpers/engines/containers.ts';
import { startModelHub } from '../../../helpers/net/model-hub.ts';
import { openFolder } from '../../../helpers/open-folder.ts';
import type { TestEngine } from '../../../helpers/system/test-engine.ts';
import { openModels } from '../../models/make-models.ts';

const USER = { uid: 7_654_331, gid: 7_654_331, name: 'account', home: '/', tmp: '/tmp' };
const logger = createLogger('test', 'silent');
/** Reads the model, and tries to write into it and beside it. */
const SCRIPT = [
  'cd $HUB; cat models--lab--tiny/snapshots/*/sub/weights.bin',
  'echo x 2>/dev/null > models--lab--tiny/refs/main && echo CHANGED || echo KEPT',
  'rm -f models--lab--tiny/blobs/* 2>/dev/null && echo GONE || echo THERE',
  'mkdir .locks && echo BESIDE',
].join('\n');

/** Runs them all as parts of a test. */
export async function modelCases(t: Test, engine: TestEngine): Promise<void> {
  const folder = await openFolder(t);
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', { files: { 'sub/weights.bin': 'WEIGHTS\n' } });
  const views = new HostViews(join(folder, 'volumes'), hostPrograms);
  t.teardown(() => views.end());
  const volumes = new VolumeFolders(join(folder, 'volumes'), views, logger);
  const { store, puller } = await openModels(folder, { hubAddress: hub.address });
  const models = new WorkerModels({ store, puller, views, scratchFolder: join(folder, 'scratch') });
  const { executor } = makeExecutor(engine);
  const open = (workerId: string, by: 'process' | 'container') =>
    models.open({
      workerId,
      endpointId: 'endpoint',
      spec: WorkerSpec.fromPartial({
        models: [{ repository: 'lab/tiny', revision: 'main', commit }],
        modelHub: { address: hub.address },
        accountNumber: 1,
      }),
      by,
      user: USER,
      progress: () => undefined,
      signal: new AbortController().signal,
    });
  const inImage = async (mounts: Launch['mounts']): Promise<string> => {
    const launch = launchOf(SCRIPT, { mounts, env: { HUB: '/runpod-volume/huggingface-cache/hub' } });
    await (await startContainer(executor, launch)).ended;
    return launch.output();
  };
  const expected = 'WEIGHTS\nKEPT\nTHERE\nBESIDE\n';

  await t.test('an image finds it in the cache of the hub', async (t) => {
    const id = freshId();
    t.equal(await inImage((await open(id, 'container')).mounts), expected);
    await models.close(id);
  });

  await t.test('and inside of its network volume', async (t) => {
    const volume = { networkVolumeId: freshId(), mountPath: '/runpod-volume', sizeGb: 1 };
    const mounts = [
      ...(await volumes.open([volume], 'container', undefined)),
      ...(await open(freshId(), 'container')).mounts,
    ];
    t.equal(await inImage(mounts), expected);
    const own = join(folder, 'volumes', volume.networkVolumeId, 'huggingface-cache/hub');
    t.same(readdirSync(own).sort(), ['.locks', 'models--lab--tiny'], 'what it wrote lies on the volume');
    t.same(readdirSync(join(own, 'models--lab--tiny')), [], 'the model does not');
  });

  await t.test('a command of the host finds a cache of its own', async (t) => {
    const id = freshId();
    const { mounts, folder: cache } = await open(id, 'process');
    // As the agent makes the parent when workers have users of their own.
    chmodSync(join(folder, 'scratch'), 0o711);
    const commands = new ViewingExecutor(new ProcessExecutor(systemClock, () => 'machine'), views);
    const launch = launchOf(SCRIPT, {
      mounts,
      env: { HUB: cache!, PATH: '/usr/bin:/bin' },
      user: USER,
      workingDirectory: '/',
      image: undefined,
    });
    await commands.prepare(launch, () => undefined, new AbortController().signal);
    await commands.start(launch).ended;
    t.equal(launch.output(), expected);
    const blob = `cat ${join(store.path, '*/*/snapshots/*/sub/weights.bin')}`;
    t.match(
      await tryAs({ uid: 7_654_332, gid: 7_654_332 }, blob, ''),
      /Permission denied|No such file/,
      'others do not',
    );
    await models.close(id);
    t.same(readdirSync(join(folder, 'scratch')), []);
  });
}
