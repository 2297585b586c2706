// test: postgres, 10 s
/** `slipway agent`: a machine joins, serves, and leaves without a trace of a process. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { jsHandler } from '../helpers/system/handlers.ts';
import { descendants, processTable } from '../helpers/system/process-table.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { commandLine } from './command-line.ts';

interface MachineDocument {
  id: string;
  name: string;
  connected: boolean;
}

t.setTimeout(600_000);

t.test('agent', async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const address = system.cores[0]!.address;
  const cli = commandLine(t, {
    SLIPWAY_WORKER_USER: 'same',
    SLIPWAY_CORE_ADDRESS: address,
    SLIPWAY_API_KEY: system.key,
    SLIPWAY_ROOT_KEY: system.rootKey,
  });
  const machine = async (name: string) =>
    (await cli.json<MachineDocument[]>('machines')).find((found) => found.name === name);
  const options = (name: string): string[] => ['--name', name, '--data-dir', join(cli.cwd, name)];

  await t.test('joins, serves and leaves at SIGTERM', async (t) => {
    const given = [
      ...options('dock-2'),
      '--location',
      'eu-1',
      '--location',
      'DE',
      '--virtual-gpus',
      'NVIDIA L4:24576x2',
      '--cpu-slots',
      '3',
      '--allow-commands',
    ];
    const keyFile = join(cli.cwd, 'dock-2.key');
    t.match(await cli.run('keys', 'create', 'dock-2', '--scope', 'agent', '--save', keyFile), {
      code: 0,
      stdout: /key in +\S+dock-2\.key/,
    });
    t.equal(statSync(keyFile).mode & 0o777, 0o600);
    const key = readFileSync(keyFile, 'utf8').trim();
    t.match(await cli.run('keys', 'create', 'dock-2', '--scope', 'agent', '--save', keyFile), {
      code: 2,
      stderr: /exists already/,
    });
    const agent = cli.start('agent', '--join', address, '--key-file', keyFile, ...given);
    const seen = await waitFor('the machine to join', async () => {
      const found = await machine('dock-2');
      return found?.connected && found;
    });
    t.match(seen, {
      locations: ['eu-1', 'DE'],
      cpuSlots: 3,
      gpus: [{ name: 'NVIDIA L4', memoryMib: 24_576 }, { name: 'NVIDIA L4' }],
    });
    await agent.wrote('stdout', /"msg":"session opened"/);
    const endpointId = await system.createEndpoint({ command: jsHandler('all.js') });
    t.match(await cli.run('jobs', 'run', '-e', endpointId, '--wait', '-i', '{"mode":"value","value":42}'), {
      code: 0,
      stdout: '42\n',
    });
    const page = await cli.run('machines', 'get', 'dock-2');
    t.match(page, {
      code: 0,
      stdout: /^name +dock-2$[^]*^locations +eu-1, DE$[^]*^GPU +TYPE[^]*^VIRTUAL\S+ +L4 +24 GiB +well/m,
    });
    t.match(page.stdout, new RegExp(`^\\w+ +\\S+ +${system.accountId} +READY +0 of 1`, 'm'));
    t.match(await cli.json('machines', 'get', seen.id), {
      id: seen.id,
      name: 'dock-2',
      connected: true,
      workers: [{ endpointId, state: 'READY' }],
      pods: [],
      images: [],
      imageCount: 0,
      keyRevokedAt: null,
    });
    t.match(await cli.run('machines', 'get', 'dock-8'), { code: 1, stderr: /no machine "dock-8"/ });
    t.notMatch(agent.stdout + agent.stderr, key, 'the key is not shown');
    const { id } = (await machine('dock-2'))!;
    t.match(
      await cli.run('keys', 'list', '--scope', 'agent'),
      { code: 0, stdout: new RegExp(`dock-2 +agent .*${id}`) },
      "the key is its machine's now",
    );
    const other = await cli.start('agent', '--key-file', keyFile, ...options('dock-9')).ended;
    t.match(other, {
      code: 1,
      stderr: new RegExp(
        `This key belongs to machine ${id}, but this is machine \\w+\\..*keys create NAME --scope agent`,
      ),
    });
    const processes = descendants(agent.child.pid!);
    t.match(
      processTable().find(({ pid }) => pid === agent.child.pid)?.command,
      /gpu-agent\/main\.ts/,
      'the agent runs in the process of the command',
    );
    t.ok(processes.length >= 2, 'the agent and a worker');
    agent.child.kill('SIGTERM');
    t.match(await agent.ended, { code: 0, stdout: /agent stopped/ });
    const left = processTable().filter(({ pid }) => processes.some((entry) => entry.pid === pid));
    t.same(left, [], 'no process is left');
    await waitFor('the machine to be gone', async () => (await machine('dock-2'))?.connected === false);
    t.match(await cli.run('machines'), { stdout: /dock-2 .*gone, seen / });
  });

  await t.test('the log is for people on request', async (t) => {
    const eyes = commandLine(t, {
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_CORE_ADDRESS: address,
      SLIPWAY_LOG_FORMAT: 'text',
    });
    const agent = eyes.start('agent', '--key', system.agentKey, '--name', 'dock-3');
    await agent.wrote('stdout', /^\d\d:\d\d:\d\d session opened {2}address=/m);
    t.ok(existsSync(join(eyes.cwd, '.slipway', 'joined-agent')), 'its folder is not that of npm start');
    t.match(agent.stderr, /--key-file is better/);
    agent.child.kill('SIGHUP');
    t.match(await agent.ended, { code: 0, stdout: /agent stopped/ }, 'the terminal was closed');
  });

  await t.test('a refused key and wrong options', async (t) => {
    if (process.getuid!() === 0) {
      t.match(await cli.start('agent', '--key', system.agentKey, '--join', address, '--worker-user', '').ended, {
        code: 2,
        stderr: /runs as root.*--worker-user per-account/,
      });
      t.match(
        await cli.start('agent', '--key', system.agentKey, ...options('dock-6'), '--worker-user', 'nobody-here').ended,
        { code: 1, stderr: /Workers cannot run as nobody-here [\s\S]*useradd --system nobody-here/ },
      );
      // Its folder lies in one that only root can enter.
      const closed = await cli.start(
        'agent',
        '--key',
        system.agentKey,
        ...options('dock-7'),
        '--worker-user',
        'per-account',
      ).ended;
      t.match(closed, { code: 1, stderr: /Workers cannot run as user 2000000000 in .*Choose a data folder/ });
    }
    const refused = await cli.start('agent', '--key', system.key, ...options('dock-4')).ended;
    t.match(refused, { code: 1, stderr: /error: Core at .* refuses the key\. It must be a key of scope agent/ });
    t.match(
      await cli.start(
        'agent',
        '--key',
        await system.newKey(KeyScope.AGENT),
        '--virtual-gpus',
        'many',
        ...options('dock-5'),
      ).ended,
      { code: 2, stderr: /NVIDIA L4:24576x2/ },
    );
  });
});
