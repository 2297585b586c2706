// test: postgres, 15 s
/** A whole installation from the command line: log in, follow an endpoint, and what a change says of where it goes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { digestAt } from '../helpers/net/authority-at.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(600_000);

t.test('an installation', async (t) => {
  const system = await startSystem(t, { coreEnv: { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' } });
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
    const { slipway, server, parts } = await cli.json<{ slipway: string; server: object; parts: object[] }>('version');
    t.same(server, { address, version: slipway }, 'the version of core');
    const served = { version: slipway, support: 'SERVED' };
    t.match(parts, [
      { name: 'agent', ...served, machines: 1 },
      { name: 'cli', ...served },
    ]);
    t.match(await cli.json('version', '--rollback'), {
      coreVersion: slipway,
      schema: /^\d{4}_/,
      coreReleases: [{ version: slipway, rollback: 'RUNS', reason: '' }],
    });
    t.match(await cli.run('version', '--rollback'), { code: 0, stdout: /MAY RUN\n.*\d{4}_.* yes\n$/ });
    t.match(await cli.json('context', 'get'), { name: 'lab', hasKey: true, hasRootKey: true, url: system.url });
    t.match(await cli.run('env', '--for', 'openai'), { stdout: new RegExp(`${system.key}[^]*${system.url}/openai`) });
  });

  await t.test('doctor: the way to core', async (t) => {
    const { stdout, ...ended } = await cli.run('doctor');
    t.match(ended, { code: 0, stderr: 'All is well.\n' }, stdout);
    t.match(
      stdout,
      /ok {4}core +answers at[^]*ok {4}clock +as that of core[^]*ok {4}key +.*context lab, of account test/,
    );
    const { secureAddress } = system.cores[0]! as unknown as { secureAddress: string };
    const trust = ['--core-ca', `sha256:${await digestAt(secureAddress)}`];
    const add = await cli.runWith(system.key, 'login', secureAddress, '--name', 'tls', ...trust);
    t.match(add, { code: 0, stdout: /Logged in to grpcs:/ });
    t.match(await cli.run('doctor'), {
      code: 0,
      stdout: /TLS authority +the given one\nok +TLS names +IP Address:127/,
    });
    const wrong = await cli.run('doctor', 'facade', '--core', secureAddress, '--core-ca', `sha256:${'0'.repeat(64)}`);
    t.match(wrong, {
      code: 1,
      stdout: /fail {2}TLS authority +its authority is not sha256:0+\n +→ Give the authority of core/,
    });
    t.match(await cli.run('doctor', '--context', 'local', '--core', secureAddress), {
      code: 1,
      stdout: /fail {2}TLS authority/,
    });
    await cli.run('context', 'use', 'lab');
    t.match(await cli.run('doctor', '--key', 'rpa_wrong'), { code: 1, stdout: /fail {2}key[^]*slipway login/ });
  });

  await t.test('pages of the console', async (t) => {
    const open = async (...args: string[]) => (await cli.run('open', ...args, '--print')).stdout.trim();
    t.equal(await open(), `${system.url}/console/`);
    t.equal(await open('talker'), `${system.url}/console/endpoints/${talker}`);
    t.equal(await open('machines'), `${system.url}/console/machines`);
    const job = '7c9b6f0e-2d4c-4f0b-9a55-0f6c3f2f9e11-u1';
    t.equal(await open(job, '-e', 'talker'), `${system.url}/console/endpoints/${talker}/jobs/${job}`);
  });

  await t.test('a change says which installation it goes to, unless one was named', async (t) => {
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

  await t.test('apply: as a file says, once', async (t) => {
    const file = join(cli.cwd, 'shop.yaml');
    const [program, ...args] = jsHandler('all.js');
    const write = (more = '') =>
      writeFileSync(
        file,
        `owner: shop
secrets:
  shop-token: { valueFromEnv: TOKEN, description: of the shop }
registryAuths:
  shop-hub: { username: me, passwordFromFile: password.txt }
networkVolumes:
  shop-models: { size: 10, dataCenterId: eu-1 }
templates:
  shop-echo:
    dockerStartCmd: ${JSON.stringify([program, ...args])}
    env: { TOKEN: "{{ RUNPOD_SECRET_shop-token }}" }
endpoints:
  shop-a: { template: shop-echo, workersMax: 1, scalerType: REQUEST_COUNT, scalerValue: 2, env: { A: "1" }, retryLimit: 0 }
  shop-b:
    template: { imageName: "registry.example/shop:1", registryAuth: shop-hub, ports: [8080/http], env: { B: "1" } }
    type: LB
    workersMax: 0
    networkVolumes: [shop-models]
${more}`,
      );
    write();
    writeFileSync(join(cli.cwd, 'password.txt'), 'hub-password\n');
    const apply = (...more: string[]) => cli.run('apply', '-f', 'shop.yaml', ...more);
    t.match(await apply('--dry-run'), { code: 2, stderr: /variable TOKEN, which is not set/ });
    const here = commandLine(t, { XDG_CONFIG_HOME: cli.cwd, TOKEN: 'secret-of-the-shop' });
    const asked = await here.runWith('n\n', 'apply', '-f', file);
    t.match(asked, {
      code: 0,
      stdout: /\+ endpoint shop-b[^]*6 resources: 6 to create/,
      stderr: /Nothing was changed/,
    });
    t.match(await here.run('apply', '-f', file), { code: 2, stderr: /no terminal to ask for confirmation/ });
    t.match(await here.run('apply', '-f', file, '--dry-run'), { code: 0, stderr: /--dry-run/ });
    t.equal((await cli.json<object[]>('volumes')).length, 0, 'nothing was made so far');
    t.match(await here.run('apply', '-f', file, '--yes'), { code: 0, stderr: /Done\.\n$/ });
    t.match(
      await apply(),
      { code: 0, stdout: /6 as they should be/, stderr: 'Nothing to change.\n' },
      'it needs no TOKEN now',
    );
    const ran = await cli.run('jobs', 'run', '-e', 'shop-a', '--wait', '-i', '{"mode":"echo","a":1}');
    t.match(ran, { code: 0, stdout: /"a": 1/ });
    const b = (await system.request('GET', `/v1/endpoints?includeTemplate=true`)).json as unknown as { name: string }[];
    t.match(
      b.find(({ name }) => name === 'shop-b'),
      {
        type: 'LB',
        template: {
          imageName: 'registry.example/shop:1',
          ports: ['8080/http'],
          env: { B: '1', SLIPWAY_OWNER: 'shop' },
        },
      },
    );

    const exported = await cli.run('export', 'shop-a', 'shop-b', '--owner', 'shop');
    t.notMatch(exported.stdout, /hub-password|secret-of-the-shop|SLIPWAY_OWNER/);
    writeFileSync(join(cli.cwd, 'again.yaml'), exported.stdout);
    t.match(await cli.run('apply', '-f', 'again.yaml'), { code: 0, stdout: /6 as they should be/ }, exported.stdout);
    writeFileSync(join(cli.cwd, 'again.json'), (await cli.run('--json', 'export', 'shop-a')).stdout);
    t.match(await cli.run('apply', '-f', 'again.json'), { code: 0, stdout: /3 as they should be/ });

    write('    scalerValue: 7\n');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('B: "1"', 'C: "2"').replace('retryLimit: 0', 'retryLimit: 3'),
    );
    const changed = await cli.json<{ resources: object[] }>('apply', '-f', 'shop.yaml', '--yes');
    t.match(changed.resources.slice(-2), [
      { name: 'shop-a', action: 'update', changes: [{ setting: 'retryLimit', from: 0, to: 3 }] },
      {
        name: 'shop-b',
        changes: [
          { setting: 'template.env.B', to: 'removed' },
          { setting: 'template.env.C', to: 'set' },
          { setting: 'scalerValue', from: 4, to: 7 },
        ],
      },
    ]);
    t.match(await apply('--dry-run'), { stdout: /6 as they should be/ }, 'and again nothing');
  });

  await t.test("apply: an impossible file changes nothing; --prune deletes the owner's resources", async (t) => {
    const write = (text: string) => writeFileSync(join(cli.cwd, 'other.yaml'), text);
    const apply = (...more: string[]) => cli.run('apply', '-f', 'other.yaml', '--yes', ...more);
    write('endpoints:\n  shop-b: { template: nosuch, type: QB }\n  talker: { template: { imageName: x } }\n');
    t.match(await apply(), {
      code: 2,
      stderr: /names the template "nosuch", which is not there[^]*type is LB and fixed/,
    });
    write('networkVolumes:\n  shop-models: { size: 5, dataCenterId: eu-1 }\n');
    t.match(await apply(), { code: 2, stderr: /has 10 GB and cannot shrink to 5/ });
    write('owner: other\nendpoints:\n  shop-a: { template: shop-echo }\n');
    t.match(await apply(), { code: 2, stderr: /is of the owner shop, not other/ });
    write('endpoints:\n  shop-a: { template: shop-echo }\n');
    t.match(await apply('--prune'), { code: 2, stderr: /--prune needs an owner/ });
    write('owner: shop\n');
    t.match(await apply('--prune'), { code: 2, stderr: /would delete all of them/ });
    write('owner: shop\nendpoints:\n  shop-a: { template: shop-echo }\ntemplates:\n  shop-echo:\n');
    t.match(await apply('--prune'), { code: 0, stdout: /^- endpoint shop-b\n3 resources: 1 to delete, 2 as/ });
    const names = (await cli.json<{ name: string }[]>('endpoints')).map(({ name }) => name);
    t.ok(names.includes('talker') && !names.includes('shop-b'), names.join());
    t.equal((await cli.json<object[]>('volumes')).length, 1, 'data is never pruned');
  });

  await t.test('a list is shown again until Ctrl-C', async (t) => {
    const run = cli.start('endpoints', '--watch');
    await run.wrote('stdout', /talker[^]*talker/);
    run.child.kill('SIGINT');
    t.match(await run.ended, { code: 0, stderr: '' });
    t.match(await cli.run('endpoints', '--watch', '--json'), { code: 2, stderr: /--watch is for people/ });
  });
});
