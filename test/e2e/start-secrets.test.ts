/** What other users of the machine can see of a running `npm start`: no secret in what a process was started with. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Launcher } from '../helpers/launcher.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { quietPort } from '../helpers/ports.ts';
import { skipWithoutProc } from '../helpers/process-table.ts';

t.setTimeout(180_000);

t.test('npm start', { skip: skipWithoutProc() }, async (t) => {
  const folder = await openFolder(t);
  const launcher = new Launcher(t, '--port', String(await quietPort()), '--data-dir', folder);
  await launcher.ready();
  const secrets = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as Record<string, string>;
  t.same(Object.keys(secrets).sort(), ['agentKey', 'apiKey', 'databasePassword', 'rootKey', 'sealKey'], 'those that are looked for');

  await t.test('neither environment nor command line of any process holds one', async (t) => {
    const processes = launcher.processes();
    for (const part of ['core/main.ts', 'facades/main.ts', 'gpu-agent/main.ts', 'postgres', 'handler']) {
      t.ok(processes.some(({ command }) => command.includes(part)), `${part} is among them`);
    }
    for (const { pid, command } of processes) {
      const seen = ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')).join('\0');
      const found = Object.keys(secrets).filter((name) => seen.includes(secrets[name]!));
      t.same(found, [], `${pid} ${command.slice(0, 100)}`);
    }
  });
  t.equal(await launcher.end('SIGTERM'), 0);
});
