/** Run by a test as a user other than root: opens a volume for an image, then for a command, and prints the results. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { VolumeFolders } from '@slipway/gpu-agent/launch/volume-folders';
import type { Logger } from '@slipway/kit/log/logger';

const folder = process.argv[2]!;
let logged = '';
const logger = {
  warn: (_: object, text: string) => {
    logged = text;
  },
} as unknown as Logger;
const volumes = new VolumeFolders(folder, undefined, logger);
const volume = { networkVolumeId: 'one', mountPath: '/runpod-volume', sizeGb: 1 };
await volumes.open([volume], 'container', undefined);
const refused = await volumes.open([volume], 'process', undefined).then(
  () => '',
  (error: Error) => error.message,
);
const modes = [folder, join(folder, 'one')].map((path) => (lstatSync(path).mode & 0o7777).toString(8));
process.stdout.write(JSON.stringify({ modes, refused, logged }));
