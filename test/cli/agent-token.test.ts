// test: postgres, 20 s
/**
 * A machine joins by the line that `slipway machines token` prints, over TLS, moves to another pool, and is removed.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(600_000);

t.test('one line', async (t) => {
  const coreEnv = { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' };
  const system = await startSystem(t, { agents: 0, coreEnv });
  const cli = commandLine(t, {
    SLIPWAY_WORKER_USER: 'same',
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_API_KEY: system.key,
    SLIPWAY_ROOT_KEY: system.rootKey,
  });
  const where = ['--location', 'eu-1', '--pool', 'racks'];
  const { stdout, stderr } = await cli.run('machines', 'token', ...where, '--ttl', '10m');
  const [, address = '', token = ''] = /^slipway agent --join (\S+) --token (sjt_\S+)\n$/.exec(stdout) ?? [];
  t.match(address, /^127\.0\.0\.1:\d+$/);
  t.match(stderr, /shown only this once/);
  const folder = join(cli.cwd, 'dock-9');
  const line = [
    'agent',
    '--join',
    address,
    '--token',
    token,
    '--name',
    'dock-9',
    '--data-dir',
    folder,
    '--allow-commands',
  ];
  const agent = cli.start(...line);
  await agent.wrote('stdout', /session opened/);
  for (const file of ['key.pem', 'certificate.pem', 'identity.json'])
    t.equal(statSync(join(folder, 'identity', file)).mode & 0o777, 0o600, file);
  const inPool = { fields: { locations: ['pool:racks'] } };
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js'), ...inPool });
  t.match(await cli.run('jobs', 'run', '-e', endpointId, '--wait', '-i', '{"mode":"value","value":42}'), {
    code: 0,
    stdout: '42\n',
  });
  const [machine] = await cli.json<{ id: string; locations: string[] }[]>('machines');
  t.same(machine!.locations, ['eu-1', 'pool:racks']);
  t.match(await cli.run('machines', 'tokens'), { stdout: /used .*1 of 1/ });

  agent.child.kill('SIGTERM');
  await agent.ended;
  const again = cli.start(...line);
  await again.wrote('stdout', /session opened/);
  const other = await cli.start(...line.map((part) => (part === folder ? `${folder}-2` : part))).ended;
  t.equal(other.code, 1);
  t.match(other.stderr, /as many machines as it may/, 'a token is for one machine');

  again.child.kill('SIGTERM');
  await again.ended;
  const shelf = await cli.json<{ token: string }>('machines', 'token', '--pool', 'shelf', '--location', 'eu-2');
  const moved = cli.start(...line.map((part) => (part === token ? shelf.token : part)));
  await moved.wrote('stdout', /has moved to the pool of its new token/);
  await moved.wrote('stdout', /session opened/);
  t.match(
    await cli.json('machines'),
    [{ id: machine!.id, connected: true, locations: ['eu-2', 'pool:shelf'] }],
    'a token of another pool moves the machine there',
  );
  moved.child.kill('SIGTERM');
  await moved.ended;
  const last = cli.start(...line);
  await last.wrote('stdout', /the token is not used: this machine has joined already/);
  await last.wrote('stdout', /session opened/);
  t.match(
    await cli.json('machines'),
    [{ locations: ['eu-2', 'pool:shelf'] }],
    'a token that is used up changes nothing',
  );

  t.match(await cli.run('machines', 'remove', machine!.id), { code: 0, stdout: /is forgotten/ });
  await last.wrote('stdout', /was removed/);
  last.child.kill('SIGTERM');
  await last.ended;
  t.ok(existsSync(join(folder, 'identity', 'key.pem')));
  await waitFor('no machine', async () => (await cli.json<unknown[]>('machines')).length === 0);
});
