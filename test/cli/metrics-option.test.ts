// test: postgres, 10 s
/**
 * `--metrics PORT` of `slipway core`, `facade` and `agent`: each of a system that they make is read there, at the
 * loopback address alone.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { readMetrics, valueOf } from '../helpers/system/metrics.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

t.setTimeout(600_000);

t.test('core, facade and agent, each at its port', async (t) => {
  const { url } = await createDatabase(t);
  const core = `127.0.0.1:${await quietPort()}`;
  const rootKey = randomBytes(24).toString('hex');
  const cli = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: core,
    SLIPWAY_ROOT_KEY: rootKey,
    SLIPWAY_AGENT_CONTAINERS: 'none',
    SLIPWAY_GRAPHQL_AT_START: 'false',
  });
  const file = (name: string, content: string): string => {
    writeFileSync(join(cli.cwd, name), content, { mode: 0o600 });
    return name;
  };
  const ports = {
    core: String(await quietPort()),
    facade: String(await quietPort()),
    agent: String(await quietPort()),
  };
  const served = async (part: keyof typeof ports, ...args: string[]): Promise<string> => {
    const run = cli.start(part, '--metrics', ports[part], ...args);
    const [, address] = await run.wrote('stdout', /"address":"([^"]+)","msg":"metrics server is listening"/);
    t.equal(address, `127.0.0.1:${ports[part]}`, `${part}: a port alone is one of this machine`);
    return address!;
  };

  const secrets = [
    '--database-url-file',
    file('url', url),
    '--secret-key-file',
    file('secret', randomBytes(32).toString('hex')),
    '--root-key-file',
    file('root', rootKey),
  ];
  const ofCore = await served('core', ...secrets, '--listen', core);
  const ofFacade = await served('facade', '--port', String(await quietPort()));
  await waitFor(
    'core to serve',
    async () =>
      (await cli.run('keys', 'create', 'rack', '--scope', 'agent', '--save', join(cli.cwd, 'rack.key'))).code === 0,
  );
  const ofAgent = await served(
    'agent',
    '--key-file',
    'rack.key',
    '--data-dir',
    'agent',
    '--worker-user',
    'same',
    '--virtual-gpus',
    'NVIDIA L4:24576x3',
  );
  await waitFor('the agent to join', async () => valueOf(await readMetrics(ofAgent), 'slipway_agent_connected') === 1);
  await waitFor(
    'its GPUs',
    async () => valueOf(await readMetrics(ofCore), 'slipway_core_gpus', { state: 'free' }) === 3,
  );
  t.ok((await readMetrics(ofFacade)).has('slipway_facade_requests_queued'));
});

t.test('an address is used as given, and a malformed one is refused', async (t) => {
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: `127.0.0.1:${await quietPort()}` });
  const facade = cli.start('facade', '--port', '0', '--metrics', 'localhost:0');
  await facade.wrote('stdout', /"address":"localhost:[1-9]\d*","msg":"metrics server is listening"/);
  t.match(await cli.start('facade', '--port', '0', '--metrics', 'here').ended, {
    code: 2,
    stderr: /SLIPWAY_METRICS_LISTEN is "here", but must be host:port/,
  });
});
