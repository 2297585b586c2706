// test: postgres, 50 s
/**
 * A machine joins by the line that `slipway machines token` prints, over TLS, moves to another pool, and is removed.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
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
    '--containers',
    join(cli.cwd, 'nosuch.sock'),
  ];
  const agent = cli.start(...line);
  await agent.wrote('stdout', /session opened/);
  await agent.wrote('stderr', /(warn|fail) {2}engine .*\n +→ [^]*slipway doctor agent/);
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
  const standing = () => cli.json<Record<string, unknown>>('machines', 'get', machine!.id);
  const settings = ['--model-disk', '3', '--standby-max', '1'];
  t.match(await cli.run('pools', 'set', 'racks', '--label', 'tier=fast', ...settings), {
    code: 0,
    stdout: /racks .* 1 .*tier=fast .*--standby-max 1, --model-disk 3/,
  });
  t.match(await standing(), {
    pool: 'racks',
    labels: { tier: 'fast' },
    locations: ['eu-1', 'pool:racks', 'tier=fast'],
  });
  await waitFor('its agent to use the settings of the pool', async () => {
    const { modelLimitBytes, standbyMax, connected } = await standing();
    return connected && modelLimitBytes === 3e9 && standbyMax === 1;
  });
  t.match(await cli.run('machines', 'tokens'), { stdout: /used .*1 of 1/ });

  agent.child.kill('SIGTERM');
  await agent.ended;
  await cli.run('pools', 'set', 'racks', '--model-disk', 'default', '--standby-max', '2');
  const again = cli.start(...line, '--standby-max', '0');
  await again.wrote('stdout', /session opened/);
  await waitFor('the changed settings', async () => {
    const { modelLimitBytes, standbyMax, connected } = await standing();
    return connected && Number(modelLimitBytes) > 3e9 && standbyMax === 0;
  });
  const other = await cli.start(...line.map((part) => (part === folder ? `${folder}-2` : part))).ended;
  t.equal(other.code, 1);
  t.match(other.stderr, /as many machines as it may/, 'a token is for one machine');

  again.child.kill('SIGTERM');
  await again.ended;
  const shelf = await cli.json<{ token: string }>('machines', 'token', '--pool', 'shelf', '--location', 'eu-2');
  const moved = cli.start(...line.map((part) => (part === token ? shelf.token : part)));
  await moved.wrote('stdout', /has moved to the pool of its new token/);
  await moved.wrote('stdout', /session opened/);
  await waitFor('a session with the settings of its new pool', async () => {
    const { connected, standbyMax } = await standing();
    return connected && standbyMax === 4;
  });
  t.match(
    await standing(),
    { pool: 'shelf', labels: {}, locations: ['eu-2', 'pool:shelf'] },
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

  const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  await sql`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'`;
  await sql`CREATE TRIGGER refuse BEFORE UPDATE ON api_key FOR EACH ROW EXECUTE FUNCTION refuse()`;
  const kept = await cli.run('machines', 'replace', 'dock-9');
  await sql`DROP FUNCTION refuse CASCADE`;
  t.not(kept.code, 0);
  t.match(kept.stdout, /--token sjt_\S+ .*--name dock-9/, 'the text of the token is not lost');
  t.match(kept.stderr, /may not be removed: run slipway machines remove dock-9/);

  const replaced = await cli.run('machines', 'replace', 'dock-9', '--for', 'systemd');
  t.match(replaced.stderr, new RegExp(`Machine dock-9 \\(${machine!.id}\\) is removed`));
  const [, fresh = ''] =
    / && echo (sjt_\S+) > [^]* -- --join \S+ --name dock-9 && systemctl/.exec(replaced.stdout) ?? [];
  await last.wrote('stdout', /was removed/);
  last.child.kill('SIGTERM');
  await last.ended;
  t.ok(existsSync(join(folder, 'identity', 'key.pem')));
  const successor = cli.start(
    ...line.map(
      (part) =>
        new Map([
          [token, fresh],
          [folder, `${folder}-3`],
        ]).get(part) ?? part,
    ),
  );
  await successor.wrote('stdout', /session opened/);
  t.match(
    await cli.json('machines'),
    [{ name: 'dock-9', pool: 'shelf', locations: ['eu-2', 'pool:shelf'] }],
    'in its place',
  );
  successor.child.kill('SIGTERM');
  await successor.ended;
  t.match(await cli.run('machines', 'remove', 'dock-9'), { code: 0, stdout: /is forgotten/ });
  await waitFor('no machine', async () => (await cli.json<unknown[]>('machines')).length === 0);
});
