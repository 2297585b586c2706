/** Run by a test: starts what tests start, notes all of its processes in the given file and waits to be killed. */
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { createDatabase } from '../helpers/database.ts';
import { jsHandler } from '../helpers/handlers.ts';
import { descendants } from '../helpers/process-table.ts';
import { startProcesses } from '../helpers/processes.ts';

t.test('it is killed before it ends', async (t) => {
  await createDatabase(t);
  const processes = await startProcesses(t);
  await processes.createEndpoint({ command: jsHandler('all.js') });
  writeFileSync(process.argv[2]!, JSON.stringify(descendants(process.pid)));
  await new Promise(() => {});
});
