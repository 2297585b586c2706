/** Opens a volume for an image and one for a command of another user, and prints what came of it. */
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import { createLogger } from '@slipway/kit/log/logger';

const volumes = new VolumeFolders(process.argv[2]!, undefined, createLogger('test', 'silent'));
const mount = (networkVolumeId: string) => ({ networkVolumeId, mountPath: '/runpod-volume', sizeGb: 1 });
const user = { uid: 7_654_321, gid: 7_654_321 };
const [image] = await volumes.open([mount('image')], 'container', undefined);
const refused = await volumes.open([mount('command')], 'process', user).then(
  () => '',
  (error: Error) => error.message,
);
process.stdout.write(JSON.stringify({ image: image!.source, refused }));
