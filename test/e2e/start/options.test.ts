// test: postgres, 10 s
/** `npm start` on an existing PostgreSQL and without an agent, which joins afterwards with the printed line. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { createDatabase } from '../../helpers/db/database.ts';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { createEndpoint } from '../../helpers/system/create-endpoint.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';

t.setTimeout(600_000);

const CLI = join(import.meta.dirname, '../../../cli/slipway.mjs');

t.test('--database-url and --no-agent', async (t) => {
  const { url } = await createDatabase(t, { empty: true });
  const folder = await openFolder(t);
  const launcher = new Launcher(
    t,
    '--port',
    String(await quietPort()),
    '--data-dir',
    folder,
    '--database-url',
    url,
    '--no-agent',
  );
  await launcher.ready();
  const commands = launcher.processes().map(({ command }) => command);
  t.notOk(
    commands.some((command) => /gpu-agent|postgres -D/.test(command)),
    'neither an agent nor a PostgreSQL of its own runs',
  );

  const facts = readFacts(join(folder, 'local.env'));
  const jobs = endpointJobs(
    { request: publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!) },
    facts.SLIPWAY_ENDPOINT_ID!,
  );
  const { input } = JSON.parse(facts.SLIPWAY_EXAMPLE_INPUT!) as { input: unknown };
  const id = await jobs.run(input);
  t.match(await jobs.look(id), { status: 'IN_QUEUE' }, 'a job is accepted and waits');

  // On a database of several accounts: what is private here is nothing to the others.
  const clients = grpcClients(facts.SLIPWAY_CORE_ADDRESS!);
  t.teardown(() => clients.close());
  const secrets = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as { rootKey: string };
  const { accountId } = await call(clients.access, 'createAccount', { name: 'guest' }, secrets.rootKey);
  const newKey = { name: 'guest', scope: KeyScope.ALL, endpointIds: [], accountId, permissions: undefined };
  const { secret: guestKey } = await call(clients.keys, 'createKey', newKey, secrets.rootKey);
  const guestEndpoint = await createEndpoint(clients, guestKey, {
    command: ['true'],
    fields: { workersMin: 0 },
    ready: 0,
  });
  const webhook = 'http://127.0.0.1:9/';
  const guest = endpointJobs({ request: publicRequest(facts.SLIPWAY_URL!, guestKey) }, guestEndpoint);
  t.match((await guest.call('POST', '/run', { input: {}, webhook })).json, { code: 'invalid_webhook' });
  t.ok(await jobs.run(input, { webhook }), 'the account of npm start may have this machine called');

  const [, address] =
    /npx slipway agent --join (\S+) (?:--worker-user per-account )?--allow-commands --key-file agent\.key$/m.exec(
      launcher.text,
    )!;
  const keyFile = join(folder, 'agent.key');
  execFileSync(process.execPath, [
    CLI,
    '--local-env',
    join(folder, 'local.env'),
    'keys',
    'create',
    'rack',
    '--scope',
    'agent',
    '--save',
    keyFile,
  ]);
  const agent = spawn(
    process.execPath,
    [
      CLI,
      'agent',
      '--join',
      address!,
      '--key-file',
      keyFile,
      '--data-dir',
      join(folder, 'joined'),
      '--worker-user',
      'per-account',
      '--allow-commands',
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const said: string[] = [];
  for (const stream of [agent.stdout, agent.stderr]) stream.on('data', (part: Buffer) => said.push(part.toString()));
  const ended = new Promise((resolve) => {
    agent.once('close', resolve);
  });
  t.teardown(async () => {
    if (!t.passing()) t.comment(said.join(''));
    agent.kill('SIGTERM');
    await ended;
  });
  t.match(await jobs.settled(id, 60_000), { status: 'COMPLETED' }, 'until the agent that joins runs it');
  agent.kill('SIGTERM');
  await ended;
  t.equal(await launcher.end('SIGINT'), 0, 'Ctrl+C ends it as SIGTERM does');
});

t.test('a database that cannot be reached ends the start with a clear error', async (t) => {
  const folder = await openFolder(t);
  const port = String(await quietPort());
  const nobody = new Launcher(
    t,
    '--port',
    port,
    '--data-dir',
    folder,
    '--database-url',
    `postgres://u:secret@127.0.0.1:${await quietPort()}/x`,
  );
  t.equal(await nobody.exit(), 2);
  t.match(nobody.text, /cannot be (used|reached)|could not be reached|did not answer/i);
  t.notMatch(nobody.text, /secret/, 'the password is not shown');
});
