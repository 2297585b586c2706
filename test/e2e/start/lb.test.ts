// test: postgres, python, 10 s
/**
 * `npm start -- --lb`: the FastAPI example behind a load-balancing endpoint, by the lines that are printed and those of
 * its README.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';

t.setTimeout(600_000);
const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');
const skip = skipWithoutPython('new') || (existsSync('/usr/bin/curl') ? false : 'needs curl');

t.test('npm start -- --lb', { skip }, async (t) => {
  const folder = await openFolder(t);
  const dataDir = join(folder, 'data');
  // The environment that pip makes is kept from run to run, as a user's data folder is.
  const venvs = join(root, '.slipway-test/venvs');
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(venvs, { recursive: true });
  await symlink(venvs, join(dataDir, 'venvs'));
  const { url: database } = await createDatabase(t);
  const port = String(await quietPort());
  const launcher = new Launcher(t, '--lb', '--port', port, '--data-dir', dataDir, '--database-url', database);
  await launcher.ready(180_000);
  const {
    SLIPWAY_URL: url,
    SLIPWAY_API_KEY: key,
    SLIPWAY_ENDPOINT_ID: endpointId,
    ...more
  } = readFacts(join(dataDir, 'local.env'));
  t.notOk('SLIPWAY_EXAMPLE_INPUT' in more, 'it takes no jobs');
  t.match(launcher.text, `all paths below /v2/${endpointId}/`);

  const line = /^\s*(curl .*)$/m.exec(launcher.text)![1]!;
  const { stdout } = await run('/bin/sh', ['-c', line]);
  const events = stdout.trim().split('\n\n');
  t.equal(events.length, 21, 'a token an event, as many as were asked for');
  t.equal(events.at(-1), 'data: [DONE]');
  t.ok(
    events
      .slice(0, -1)
      .every((event) => typeof (JSON.parse(event.slice('data: '.length)) as { token: string }).token === 'string'),
  );

  const blocks = [...readFileSync(join(root, 'examples/chat-lb/README.md'), 'utf8').matchAll(/(?:^ {4}.*\n)+/gm)].map(
    ([text]) => text.replace(/^ {4}/gm, ''),
  );
  const script = blocks
    .filter((text) => !text.startsWith('npm start'))
    .join('')
    .replace('.slipway/local.env', join(dataDir, 'local.env'));
  const shown = (
    await run('/bin/sh', ['-ec', script], {
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` },
    })
  ).stdout;
  t.match(shown, /data: \[DONE\]/, 'events by hand');
  t.match(shown, /"title":"chat"/, 'its own description of itself');
  t.match(shown, /\{"token":"[^"]+"\}\n(.*\n)*\{"done":true\}\n$/, 'a WebSocket');

  const bad = await fetch(`${url}/v2/${endpointId}/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"message":"x","tokens":0}',
  });
  t.equal(bad.status, 422, 'what the server refuses comes through as it is');
  t.match(await bad.json(), { detail: [{ loc: ['body', 'tokens'] }] });
});
