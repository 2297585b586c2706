// test: postgres, 15 s
/** A whole installation from the command line: log in, follow an endpoint, and what a change says of where it goes. */
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(600_000);

t.test('an installation', async (t) => {
  const system = await startSystem(t);
  const address = system.cores[0]!.address;
  const cli = commandLine(t, {});
  const talker = await system.createEndpoint({
    command: jsHandler('talker.js'),
    workersMax: 1,
    fields: { name: 'talker', workersMin: 1 },
  });

  await t.test('log in: the key is checked, stored, and used', async (t) => {
    t.match(await cli.runWith('rpa_wrong\n', 'login', address), { code: 1, stdout: '', stderr: /UNAUTHORIZED/ });
    t.match(await cli.run('endpoints'), { code: 2, stderr: /log in with "slipway login ADDRESS"/ });
    const stored = await cli.runWith(`${system.key}\n`, 'login', address, '--name', 'lab', '--url', system.url);
    t.match(stored, { code: 0, stdout: /as account test\. Commands now go to the context lab/, stderr: '' });
    t.notMatch(stored.stdout + stored.stderr, system.key);
    t.match(await cli.run('endpoints'), { code: 0, stdout: /talker/, stderr: '' }, 'what only reads says nothing');
    t.match(await cli.run('machines'), { code: 2, stderr: /for the operator/ });
    await cli.runWith(system.rootKey, 'login', '--context', 'lab', '--operator');
    t.match(await cli.run('machines'), { code: 0, stdout: /connected/ });
    t.match(await cli.json('context', 'get'), { name: 'lab', hasKey: true, hasRootKey: true, url: system.url });
    t.match(await cli.run('env', '--for', 'openai'), { stdout: new RegExp(`${system.key}[^]*${system.url}/openai`) });
  });

  await t.test('pages of the console', async (t) => {
    const open = async (...args: string[]) => (await cli.run('open', ...args, '--print')).stdout.trim();
    t.equal(await open(), `${system.url}/console/`);
    t.equal(await open('talker'), `${system.url}/console/endpoints/${talker}`);
    t.equal(await open('machines'), `${system.url}/console/machines`);
    const job = '7c9b6f0e-2d4c-4f0b-9a55-0f6c3f2f9e11-u1';
    t.equal(await open(job, '-e', 'talker'), `${system.url}/console/endpoints/${talker}/jobs/${job}`);
  });

  await t.test('a change says where it goes, unless the place was named', async (t) => {
    const change = ['secrets', 'set', 'token'];
    t.match(await cli.runWith('x', ...change), { code: 0, stderr: `Context lab (${address})\n` });
    t.match(await cli.runWith('y', '--context', 'lab', ...change), { code: 0, stderr: '' });
    t.match(await cli.run('secrets', 'rm', 'token', '--core', address, '--key', system.key), { code: 0, stderr: '' });
  });

  await t.test('the lines of all workers of an endpoint', async (t) => {
    const run = cli.start('logs', '-f', 'talker');
    const [line] = await run.wrote('stdout', /^(\w{14}) .+$/m);
    const [{ id }] = await cli.json<[{ id: string }]>('workers', 'list', 'talker');
    t.ok(line.startsWith(id), line);
    run.child.kill('SIGINT');
    t.match(await run.ended, { code: 130 });
    t.match(await cli.run('logs', talker, '--tail', '1'), { code: 0, stdout: new RegExp(`^${id} .+\n$`) }, 'by id');
    t.match(await cli.run('logs', 'abcdefghij1234'), { code: 1, stderr: /NOT_FOUND/ });
  });

  await t.test('deploy: an endpoint in one step, and again for a change', async (t) => {
    const handler = ['--', ...jsHandler('all.js')];
    const first = await cli.run('deploy', '--name', 'one', '--env', 'A=1', '-i', '{"mode":"echo","a":1}', ...handler);
    t.match(first, { code: 0, stdout: /^id +\w{14}\nname +one[^]*"a": 1/, stderr: /is COMPLETED/ });
    t.match(await cli.run('deploy', ...handler), { code: 2, stderr: /Name the endpoint/ });
    t.match(await cli.run('deploy', '--name', 'one'), { code: 2, stderr: /give --image, or a command/ });
    t.match(await cli.run('deploy', '--name', 'one', '-i', '{"a'), { code: 2, stderr: /is not JSON/ });
    const off = ['--workers-max', '0'];
    const made = await cli.json<{ id: string }>('deploy', '--image', 'registry.example/a/ocr:3', ...off, '--disk', '7');
    t.match(made, { name: 'ocr', workersMax: 0 });
    t.match(await cli.run('deploy', '--image', 'b/ocr:4', ...off), { code: 1, stderr: /Change it with --name ocr/ });
    t.match(await cli.run('deploy', '--image', 'b/x:1', '--registry-auth', 'hub'), { code: 1, stderr: /"hub"/ });
    const image = ['--image', 'registry.example/a/ocr:4'];
    t.match(await cli.json('deploy', '--name', 'ocr', ...image), { id: made.id, version: 1 });
    const copy = await cli.json<{ id: string }>('endpoints', 'duplicate', 'ocr', 'ocr-2');
    t.match(copy, { name: 'ocr-2', workersMax: 0 });
    const shown = async (id: string) => (await system.request('GET', `/v1/endpoints/${id}?includeTemplate=true`)).json;
    const ofTemplate = { imageName: 'registry.example/a/ocr:4', containerDiskInGb: 7 };
    t.match([await shown(made.id), await shown(copy.id)], [{ template: ofTemplate }, { template: ofTemplate }]);
    t.match(await cli.json('endpoints', 'duplicate', 'talker', 'talker-2'), { templateId: /^\w{10}$/, workersMin: 1 });
    t.match(await cli.run('endpoints', 'duplicate', 'nosuch', 'x'), { code: 1, stderr: /no endpoint named "nosuch"/ });
  });

  await t.test('a list is shown again until Ctrl-C', async (t) => {
    const run = cli.start('endpoints', '--watch');
    await run.wrote('stdout', /talker[^]*talker/);
    run.child.kill('SIGINT');
    t.match(await run.ended, { code: 0, stderr: '' });
    t.match(await cli.run('endpoints', '--watch', '--json'), { code: 2, stderr: /--watch is for people/ });
  });
});
