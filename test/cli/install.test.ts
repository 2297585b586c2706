/** `slipway install` writes units of systemd, which systemd understands, and keeps what an operator has changed. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PARTS } from '@slipway/cli/install/unit';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import { commandLine } from './command-line.ts';

const root = join(import.meta.dirname, '../..');
const UNITS = join(root, 'deploy/systemd');
/** Highest exposure that `systemd-analyze security` may find, times ten. The agent runs workers of any kind as root. */
const EXPOSURE_MAX = { core: 16, facade: 16, edge: 23, agent: 84 } as const;
/** Receives one datagram as systemd does, and prints it. */
const RECEIVE = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print('bound', flush=True); print(s.recv(4096).decode())`;

const cli = commandLine(t, {});
const at = (...names: string[]): string => join(cli.cwd, ...names);
for (const folder of ['units', 'etc']) mkdirSync(at(folder));
// Wherever this checkout is: units do not run programs of /home or /tmp.
const OPTIONS = ['--unit-dir', 'units', '--config-dir', 'etc', '--program', '/opt/slipway/cli/slipway'];
const install = (...args: string[]) => cli.run('install', ...OPTIONS, ...args);
const unit = (part: string): string => at('units', `slipway-${part}.service`);

t.test('a unit is written once, replaced as long as nobody has changed it, and then kept', async (t) => {
  const dry = await install('core', '--dry-run', '--', '--listen', '10.0.0.1:50051');
  t.match(dry, { code: 0, stdout: /^ExecStart=\S+\/cli\/slipway core .* --listen 10\.0\.0\.1:50051$/m });
  t.match(dry.stdout, /would be written/);
  t.same(readdirSync(at('units')), [], 'a dry run writes nothing');

  const first = await install('core');
  t.match(first, { code: 0, stdout: /: written\nFirst put database-url into .*etc\/database-url/ });
  t.match(first.stdout, /^Next: systemctl daemon-reload && systemctl enable slipway-core/m);
  t.notMatch(
    readFileSync(unit('core'), 'utf8'),
    /root-key|edge-key/,
    'a credential without its file would keep it down',
  );
  t.match(await install('core'), { code: 0, stdout: /is as it should be/ });

  writeFileSync(at('etc/root-key'), 'x');
  t.match(await install('core'), { code: 0, stdout: /: replaced/ });
  t.match(readFileSync(unit('core'), 'utf8'), `LoadCredential=root-key:${at('etc')}/root-key\n`);

  const changed = readFileSync(unit('core'), 'utf8').replace('RestartSec=2', 'RestartSec=9');
  writeFileSync(unit('core'), changed);
  t.match(await install('core', '--', '--metrics', '9090'), {
    code: 2,
    stderr: /was changed since .*systemctl edit slipway-core/,
  });
  t.match(await install('core', '--dry-run'), { code: 2, stderr: /was changed/ });
  t.equal(readFileSync(unit('core'), 'utf8'), changed);
});

t.test('arguments reach the part as they are', async (t) => {
  const { stdout } = await install(
    'agent',
    '--dry-run',
    '--',
    '--name',
    'rack 1 "100%" $HOME',
    '--worker-user',
    'same',
  );
  t.match(
    stdout,
    'agent --key-file %d/agent-key --data-dir %S/slipway-agent --name "rack 1 \\"100%%\\" $$HOME" --worker-user same\n',
  );
  writeFileSync(at('etc/join-token'), 'x');
  t.match((await install('agent', '--dry-run')).stdout, ' agent --token-file %d/join-token --worker-user');
});

t.test('settings that cannot work are refused', async (t) => {
  t.match(await install('pod'), { code: 2, stderr: /Allowed choices are core, facade, edge, agent/ });
  t.match(await install('core', '--unit-dir', 'nowhere'), { code: 2, stderr: /no folder .*nowhere/ });
  t.match(await install('core', '--program', '/home/me/slipway'), { code: 2, stderr: /in \/home\/me.* cannot read/ });
});

const skip = existsSync('/usr/bin/systemd-analyze') ? false : 'needs systemd: apt-get install systemd';
t.test('systemd accepts the units of deploy/systemd and rates them as sandboxed', { skip }, async (t) => {
  const { path } = await scratch(t);
  const analyze = (...args: string[]): string => {
    const { stdout, stderr } = spawnSync('systemd-analyze', args, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });
    return stdout + stderr;
  };
  const verify = (file: string): string[] =>
    analyze('verify', '--man=no', file)
      .split('\n')
      .filter((line) => line.includes('slipway-'));
  for (const part of PARTS) {
    const file = path(`slipway-${part}.service`);
    // systemd checks that the program exists.
    const text = readFileSync(join(UNITS, `slipway-${part}.service`), 'utf8').replace(
      '/opt/slipway/node_modules/.bin',
      `${root}/cli`,
    );
    writeFileSync(file, text);
    t.same(verify(file), [], part);
    const security = ['security', '--offline=true', '--no-pager', `--threshold=${EXPOSURE_MAX[part]}`, file];
    const { status, stdout } = spawnSync('systemd-analyze', security, { encoding: 'utf8' });
    t.equal(status, 0, `${part}: ${stdout.trim().split('\n').at(-1)}`);
  }
  const broken = path('slipway-broken.service');
  writeFileSync(broken, readFileSync(path('slipway-core.service'), 'utf8').replace('Restart=', 'Restarts='));
  t.match(verify(broken).join('\n'), 'Restarts', 'it would say so');
});

t.test('a part says to systemd when it is ready', { skip }, async (t) => {
  const { path } = await scratch(t);
  const socket = path('notify');
  const receiver = execFile('python3', ['-c', RECEIVE, socket]);
  const said: string[] = [];
  receiver.stdout!.on('data', (part: string) => said.push(part));
  await new Promise((resolve) => receiver.stdout!.once('data', resolve));
  const ended = new Promise((resolve) => receiver.once('exit', resolve));
  const module = join(root, 'kit/host/notify-supervisor.ts');
  const program = `import { reportReady } from ${JSON.stringify(module)}; reportReady({});`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, NOTIFY_SOCKET: socket },
  });
  await ended;
  t.match(said.join(''), /READY=1/);
});

t.test('cli/slipway and gpu-agent/slipway-agent are one file', async (t) => {
  const [one, two] = ['cli/slipway', 'gpu-agent/slipway-agent'].map((file) => readFileSync(join(root, file), 'utf8'));
  t.equal(one, two);
  const { status, stderr } = spawnSync(join(root, 'gpu-agent/slipway-agent'), {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  t.equal(status, 2);
  t.match(stderr, 'SLIPWAY_CORE_ADDRESS is not set');
});
