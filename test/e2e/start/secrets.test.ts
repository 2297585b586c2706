// test: postgres, 10 s
/**
 * Other users of the host see no secrets of a running `npm start`: processes are started without secrets in their
 * arguments and environment, and as root the workers run as a separate user who can read none of its files.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCOUNT_UID_BASE } from '@slipway/kit/host/host-user';
import t from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { skipWithoutProc } from '../../helpers/system/process-table.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';

t.setTimeout(600_000);

t.test('npm start', { skip: skipWithoutProc() }, async (t) => {
  const folder = await openFolder(t);
  const handler = join(import.meta.dirname, '../../handlers/snoop.js');
  const launcher = new Launcher(t, '--port', String(await quietPort()), '--data-dir', folder, '--handler', handler);
  await launcher.ready();
  const secrets = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as Record<string, string>;
  t.same(
    Object.keys(secrets).sort(),
    ['agentKey', 'agentKeyId', 'apiKey', 'databasePassword', 'rootKey', 'sealKey'],
    'those that are looked for',
  );

  await t.test('no process has a secret in its environment or command line', async (t) => {
    const processes = launcher.processes();
    for (const part of ['core/main.ts', 'facades/main.ts', 'gpu-agent/main.ts', 'postgres', 'handlers/snoop.js']) {
      t.ok(
        processes.some(({ command }) => command.includes(part)),
        `${part} is among them`,
      );
    }
    for (const { pid, command } of processes) {
      const seen = ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')).join('\0');
      const found = Object.keys(secrets).filter((name) => seen.includes(secrets[name]!));
      t.same(found, [], `${pid} ${command.slice(0, 100)}`);
    }
  });

  const asRoot = process.getuid!() === 0;
  await t.test(
    'a worker cannot read the secrets',
    { skip: asRoot ? false : 'needs root to run workers as other users' },
    async (t) => {
      const facts = readFacts(join(folder, 'local.env'));
      const jobs = endpointJobs(
        { request: publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!) },
        facts.SLIPWAY_ENDPOINT_ID!,
      );
      const others = launcher.processes().filter(({ command }) => !command.includes('snoop.js'));
      const files = [
        '.',
        'secrets.json',
        'handed-over',
        'handed-over/root-key',
        'local.env',
        'logs',
        'postgres',
        'agent',
        'agent/spool',
        'agent/logs',
      ];
      const paths = [...files.map((name) => join(folder, name)), ...others.map(({ pid }) => `/proc/${pid}/environ`)];
      t.ok(existsSync(join(folder, 'handed-over/root-key')), 'and they are there');
      const { output } = (await jobs.runSync({ paths }, {}, 20_000)) as unknown as {
        output: { uid: number; seen: Record<string, string> };
      };
      t.same(output.seen, Object.fromEntries(paths.map((path) => [path, 'EACCES'])));
      t.ok(output.uid > ACCOUNT_UID_BASE);
      t.notMatch(launcher.text, /Workers run as root/);
    },
  );
  t.equal(await launcher.end('SIGTERM'), 0);

  await t.test('a secret key that differs from that of the database is rejected with a clear line', async (t) => {
    const file = join(folder, 'secrets.json');
    writeFileSync(file, JSON.stringify({ ...secrets, sealKey: 'f'.repeat(secrets.sealKey!.length) }));
    const other = new Launcher(t, '--port', String(await quietPort()), '--data-dir', folder, '--handler', handler);
    t.not(await other.exit(), 0);
    t.match(other.text, /SLIPWAY_SECRET_KEY is not the key that the secrets in this database are sealed with/);
    t.notMatch(other.text, /f{20}/, 'and shows no key');
  });
});
