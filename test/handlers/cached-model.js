/** Reads a file of the model that its endpoint names, where the hub's clients look for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { start } from 'slipway-worker';

start({
  handler: ({ input }) => {
    const snapshots = join(process.env.HF_HUB_CACHE, `models--${input.model.replace('/', '--')}`, 'snapshots');
    const [commit] = readdirSync(snapshots);
    return { commit, text: readFileSync(join(snapshots, commit, input.file), 'utf8') };
  },
});
