/** Core checks its driver: the one of this clone is patched, and the one that npm publishes is rejected by name. */
import { execFile } from 'node:child_process';
import { cpSync, globSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { scratch } from '../../../helpers/scratch.ts';

const root = join(import.meta.dirname, '../../../..');
const PUBLISHED = '.published';

t.test('the driver as it is published is rejected', async (t) => {
  const { path } = await scratch(t);
  cpSync(join(root, 'node_modules/postgres'), path('postgres'), { recursive: true });
  const published = globSync(`**/*${PUBLISHED}`, { cwd: path('postgres') });
  t.ok(published.length > 0, 'an installation keeps what it has patched');
  for (const file of published)
    renameSync(path(`postgres/${file}`), path(`postgres/${file.slice(0, -PUBLISHED.length)}`));
  t.equal(await connectWith(path('postgres/src/index.js')), 'not patched');
});

t.test('the driver of this clone is not', async (t) => {
  t.equal(await connectWith(join(root, 'node_modules/postgres/src/index.js')), 'taken');
});

/** Makes a client of core in a separate process, with that driver. It connects to nothing. */
async function connectWith(driver: string): Promise<string> {
  const module = (file: string): string => JSON.stringify(pathToFileURL(join(root, file)).href);
  const program = `
    import { registerHooks } from 'node:module';
    const url = ${JSON.stringify(pathToFileURL(driver).href)};
    const isDriver = (name, { conditions }) => name === 'postgres' && [...conditions].includes('import');
    registerHooks({ resolve: (name, context, next) => next(isDriver(name, context) ? url : name, context) });
    const { connect } = await import(${module('core/store/sql/database.ts')});
    const { createLogger } = await import(${module('kit/log/logger.ts')});
    try {
      connect('postgres://127.0.0.1:1/none', 'test', 1, createLogger('test', 'silent'));
      console.log('taken');
    } catch (error) {
      console.log(/deploy\\/patches/.test(error.message) ? 'not patched' : error.message);
    }
    process.exit();`;
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])).stdout.trim();
}
