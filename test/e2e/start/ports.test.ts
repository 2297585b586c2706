// test: postgres, 20 s
/** `npm start` when ports are lost while it starts: its own it replaces, the user's it reports. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { occupy, quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { processTable } from '../../helpers/system/process-table.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('two starts at the same moment', async (t) => {
  const folders = [await openFolder(t), await openFolder(t)];
  // Core's port of both, as if each had had it in an earlier run: the one that everybody prefers may be taken on this
  // machine already.
  const preferred = await quietPort();
  for (const folder of folders) writeFileSync(join(folder, 'core.port'), `${preferred}\n`);
  const launchers = await Promise.all(
    folders.map(
      async (folder, index) =>
        new Launcher(
          t,
          ...['--port', String(await quietPort()), '--data-dir', folder, '--no-agent'],
          ...(index === 0 ? [] : ['--database-url', (await createDatabase(t)).url]),
        ),
    ),
  );
  await Promise.all(launchers.map((launcher) => launcher.ready()));
  const facts = folders.map((folder) => readFacts(join(folder, 'local.env')));
  const addresses = facts.map((each) => each.SLIPWAY_CORE_ADDRESS);
  t.ok(addresses.includes(`127.0.0.1:${preferred}`), 'one of them has it');
  t.not(addresses[0], addresses[1]);
  for (const { SLIPWAY_URL: url, SLIPWAY_API_KEY: key, SLIPWAY_ENDPOINT_ID: id } of facts) {
    t.match(await publicRequest(url!, key!)('GET', `/v2/${id}/health`), { status: 200 }, 'each serves its own account');
  }
  for (const launcher of launchers) t.equal(await launcher.end('SIGTERM'), 0);
});

t.test("the user's port is taken after it was checked", async (t) => {
  const port = await quietPort();
  const launcher = new Launcher(t, '--port', String(port), '--data-dir', await openFolder(t));
  await waitFor('the look at the port to be over', () => launcher.text.includes('PostgreSQL is up'), 60_000);
  await occupy(t, port);
  const own = processTable().find(({ pid }) => pid === launcher.pid)!.group;
  const groups = new Set<number>();
  let code: number | NodeJS.Signals | undefined;
  void launcher.exit().then((how) => {
    code = how;
  });
  await waitFor('its end', () => {
    for (const { group } of launcher.processes()) if (group !== own) groups.add(group);
    return code !== undefined;
  });
  t.equal(code, 2, 'as when it was taken from the start');
  t.match(
    launcher.text,
    new RegExp(`^\\s*Port ${port} is taken by another program\\. Choose another one: npm start -- --port \\d+$`, 'm'),
  );
  t.notMatch(launcher.text, /EADDRINUSE|\n\s+at /, 'without what only we can read');
  t.ok(groups.size >= 2, 'processes ran by then');
  t.same(
    processTable().filter(({ group }) => groups.has(group)),
    [],
    'and none is left',
  );
});
