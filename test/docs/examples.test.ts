// test: postgres
/**
 * The commands of docs/reference/api.md and docs/reference/management.md work as they stand beside a system that npm
 * start would have left its facts of.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeLocalEnv } from '@slipway/dev/local-env';
import t from 'tap';
import { openFolder } from '../helpers/open-folder.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { Shell } from './shell.ts';

const root = join(import.meta.dirname, '../..');
const skip = existsSync('/usr/bin/curl') ? false : 'needs curl';

t.setTimeout(600_000);

t.test('the commands', { skip }, async (t) => {
  const system = await startSystem(t);
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 1 } });
  const folder = await openFolder(t);
  mkdirSync(join(folder, '.slipway'));
  writeLocalEnv(join(folder, '.slipway/local.env'), {
    url: system.url,
    apiKey: system.key,
    endpointId,
    coreAddress: system.cores[0]!.address,
    exampleInput: '{}',
  });
  for (const file of ['docs/reference/api.md', 'docs/reference/management.md']) {
    const shell = new Shell({ PATH: process.env.PATH, HOME: folder }, folder);
    t.teardown(() => shell.end());
    const blocks = [...readFileSync(join(root, file), 'utf8').matchAll(/^```bash\n([^]*?)^```/gm)].map(
      (match) => match[1]!,
    );
    t.ok(blocks.length > 0, `${file} has commands`);
    for (const block of blocks) {
      const answer = await shell.run(
        block.replaceAll('npx slipway', `${process.execPath} ${join(root, 'cli/slipway.mjs')}`),
      );
      t.match(answer, /[{[]/, block);
      t.notMatch(answer, /"error"|"errors"/, block, { found: answer });
    }
  }
});
