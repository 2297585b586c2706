/** Run by a test: starts what tests start, notes all of its processes in the given file and waits to be killed. */
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { descendants } from '../helpers/system/process-table.ts';
import { startProcesses } from '../helpers/system/processes.ts';

t.test('it is killed before it ends', async (t) => {
  await createDatabase(t);
  const processes = await startProcesses(t);
  await processes.createEndpoint({ command: jsHandler('all.js') });
  writeFileSync(process.argv[2]!, JSON.stringify(descendants(process.pid)));
  await new Promise(() => {});
});
