/**
 * The units of core, facade and agent under a real systemd, in a container of Podman: they start, a job runs, systemd
 * starts again what was killed, and they stop in order. Needs root, Podman, runc and systemd; it copies /usr by hard
 * links, so it is no part of the suite. Run it as `npx node test/cli/real-systemd-main.ts`.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeContext } from '@slipway/tools/pack/image-context';
import { stagePackage } from '@slipway/tools/pack/stage-package';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { writeSettings } from '../helpers/engines/podman-settings.ts';
import { quietPort } from '../helpers/net/ports.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const PARTS = ['core', 'facade', 'agent'] as const;
const UNITS = PARTS.map((part) => `slipway-${part}`);
/** They would change settings of the kernel that this host shares. */
const MASKED = ['systemd-sysctl', 'systemd-modules-load', 'systemd-udevd', 'systemd-udev-trigger'];

t.setTimeout(600_000);
t.test('real systemd', async (t) => {
  const folder = await openFolder(t);
  const env = await writeSettings(folder);
  const podman = async (...args: string[]): Promise<string> => (await run('podman', args, { env })).stdout.trim();
  const at = (...names: string[]): string => join(folder, 'root', ...names);

  // A whole system that systemd can boot: programs of this host, and the parts as their packages ship them.
  for (const name of ['', 'proc', 'sys', 'dev', 'run', 'tmp', 'root', 'var/lib', 'var/log', 'opt', 'etc/slipway'])
    mkdirSync(at(name), { recursive: true });
  await run('cp', ['-al', '/usr', at('usr')]);
  await run('cp', ['-a', '/etc/.', at('etc')]);
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, at(name));
  mkdirSync(join(folder, 'cli'));
  await stagePackage(root, 'cli', join(folder, 'cli'), { types: false });
  for (const part of PARTS) {
    mkdirSync(at('opt', part));
    await makeContext(root, part, at('opt', part), new Map([['cli', join(folder, 'cli')]]));
  }
  cpSync(realpathSync(process.execPath), at('opt/node'));

  for (const name of MASKED) symlinkSync('/dev/null', at('etc/systemd/system', `${name}.service`));

  const core = `127.0.0.1:${await quietPort()}`;
  const { url } = await createDatabase(t, { empty: true });
  const rootKey = `root_${randomBytes(24).toString('hex')}`;
  const secrets = { 'database-url': url, 'secret-key': randomBytes(32).toString('hex'), 'root-key': rootKey };
  for (const [name, text] of Object.entries(secrets)) writeFileSync(at('etc/slipway', name), text, { mode: 0o600 });
  const boot = ['--systemd=always', '--privileged', '--network=host', '--rootfs', `${at()}:O`, '/lib/systemd/systemd'];
  await podman('run', '--detach', '--name=systemd', ...boot, '--unit=basic.target');
  t.teardown(() => podman('rm', '--force', '--time=1', 'systemd'));
  const inside = (line: string): Promise<string> => {
    const given = `export SLIPWAY_CORE_ADDRESS=${core} SLIPWAY_ROOT_KEY_FILE=/etc/slipway/root-key`;
    const path = 'PATH=/opt/core/slipway/bin:/usr/local/bin:/usr/sbin:/usr/bin';
    return podman('exec', 'systemd', 'sh', '-c', `set -e; ${given} ${path}; ${line}`);
  };
  await waitFor('systemd to run', async () => (await inside('systemctl is-system-running')) === 'running');
  // As systemd itself does outside of containers: credentials are mounted into units.
  await inside('mount --make-rshared /; ln -sf /opt/node /usr/local/bin/node');

  const install = (part: string, ...args: string[]): Promise<string> =>
    inside(`/opt/${part}/slipway/bin/slipway install ${part} -- ${args.join(' ')}; systemctl daemon-reload`);
  await install('core', '--listen', core);
  await install('facade', '--core', core, '--port', '0');
  await inside('systemctl enable --now slipway-core slipway-facade');
  await inside('slipway keys create agent --scope agent --save /etc/slipway/agent.key');
  await install('agent', '--core', core, '--worker-user', 'same', '--allow-commands');
  await inside('systemctl enable --now slipway-agent');
  const states = (): Promise<string> => inside(`systemctl is-active ${UNITS.join(' ')} || true`);
  t.equal(await states(), 'active\nactive\nactive', 'a start returns when the part serves');

  const id = async (line: string): Promise<string> => (JSON.parse(await inside(line)) as { id: string }).id;
  const user = 'SLIPWAY_API_KEY_FILE=/etc/slipway/api-key slipway --json';
  const account = await inside('slipway accounts create main | head -1');
  await inside(`slipway keys create first --account ${account} --save /etc/slipway/api-key`);
  const template = await id(`${user} templates create hello -- node /opt/agent/slipway/hello.mjs`);
  const endpoint = await id(`${user} endpoints create --template ${template} --compute cpu`);
  const job = (name: string): Promise<string> =>
    inside(`${user} jobs run --endpoint ${endpoint} --input '{"name":"${name}"}' --wait`);
  t.match(await job('Ada'), 'Ada');

  for (const unit of UNITS) await inside(`systemctl kill --signal=KILL --kill-who=main ${unit}`);
  await waitFor('systemd to start them again', async () => {
    const restarts = await inside(`systemctl show --property=NRestarts ${UNITS.join(' ')}`);
    return !restarts.includes('=0') && (await states()) === 'active\nactive\nactive';
  });
  t.match(await job('Bob'), 'Bob');
  await inside(`systemctl stop ${UNITS.toReversed().join(' ')}`);
  const ends = await inside(`systemctl show --property=ExecMainStatus ${UNITS.join(' ')}`);
  t.same(ends.match(/\d+/g), ['0', '0', '0'], 'each stops in order');
});
