// test: alone, python, 20 s
/**
 * Cleanup after an agent that does not come back: leftovers on its host remove themselves if no container is left;
 * otherwise `slipway agent --clean` removes them.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { interfacePrefix } from '@slipway/gpu-agent/executors/container/workload-networks';
import t from 'tap';
import { podmanSkip, startPodman } from '../../helpers/engines/podman.ts';
import { BASE_IMAGE } from '../../helpers/engines/podman-images.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const run = promisify(execFile);
const CLI = join(import.meta.dirname, '../../../cli/slipway.mjs');
/** Pause between two looks at the host, each of which starts four programs. */
const LOOK_MS = 3_000;
t.setTimeout(600_000);

t.test('an agent that does not come back', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  const slipway = await startProcesses(t, { agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket } });
  const [agent] = slipway.agents;
  const dataDir = join(slipway.folder, 'agent-1');
  const prefix = interfacePrefix(readFileSync(join(dataDir, 'machine-id'), 'utf8').trim());
  /** Networks, chains and addresses of this machine. */
  const left = async (): Promise<string[]> => {
    const networks = (await podman.cli('network', 'ls', '--format={{.Name}}'))
      .split('\n')
      .filter((name) => name.includes(prefix));
    const rules = ['iptables-save', 'ip6tables-save'].flatMap((program) =>
      execFileSync(program, { encoding: 'utf8' }).split('\n'),
    );
    const links = execFileSync('ip', ['-o', 'address'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(` ${address}/`));
    return [...networks, ...rules.filter((rule) => rule.includes(`slipway-${prefix}`)), ...links];
  };
  const shared = await waitFor(
    'its network',
    async () => await podman.cli('network', 'inspect', `slipway-${prefix}`).catch(() => ''),
  );
  const address = /"gateway": "([\d.]+)"/.exec(shared)![1]!;
  const clean = (): Promise<{ stdout: string; stderr: string; code?: number }> =>
    run(process.execPath, [CLI, 'agent', '--clean', '--data-dir', dataDir, '--containers', podman.socket], {
      env: { PATH: process.env.PATH },
    }).catch((error: unknown) => error as { stdout: string; stderr: string; code: number });
  t.ok((await left()).length > 5, 'while it runs');

  await t.test('without containers, networks, rules and the address are removed', async (t) => {
    await agent!.kill();
    await waitFor('them to go', async () => (await left()).length === 0, 120_000, LOOK_MS);
    await agent!.start();
    t.ok((await left()).length > 5, 'the next start makes them anew');
  });

  await t.test('--clean ends a left pod and removes everything, but not under a running agent', async (t) => {
    const { id } = await podCalls(slipway.clients, slipway.key).create({
      computeType: 'CPU',
      imageName: BASE_IMAGE,
      startCommand: ['/bin/sh', '-c', 'exec sleep 1000'],
    });
    await waitFor('its container', async () => (await podman.names()).includes(id), 60_000);
    t.match(await clean(), { code: 1, stderr: /An agent runs in .*: stop it first/ });
    t.match(await podman.names(), id);
    await agent!.kill();
    t.match(await clean(), { stdout: /the host is clean/ });
    t.notMatch(await podman.names({ all: true }), id);
    t.same(await left(), []);
  });
});
