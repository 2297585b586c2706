// test: alone, postgres, python, 60 s
/**
 * Network volumes and memory limits of containers while worker, agent, engine and core are killed. Each line of a
 * COMPLETED job is in the volume, whole, also for a command that gets the same volume afterwards. A worker that the
 * kernel kills for its memory while no agent or core runs ends its job once, with that reason.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { podmanSkip, startPodman } from '../helpers/engines/podman.ts';
import { makeWorkerImage } from '../helpers/engines/podman-images.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler, PYTHONS, skipWithoutPython } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import type { PublicJson } from '../helpers/system/public-api.ts';
import { LONG_LEASE } from '../helpers/time/long-lease.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Jobs before each kill. */
const STEP = 12;
const ENDED_MS_MAX = 120_000;
/** More than the 1 GiB of the workers' size. */
const TOO_MUCH_MIB = 2_000;
const SIZE = { computeType: 'CPU', instanceIds: ['cpu3c-1-1'] };

interface Output {
  number: number;
  mark: string;
}

t.setTimeout(600_000);

t.test('volumes and memory under kills', { skip: podmanSkip || skipWithoutPython('new') }, async (t) => {
  const podman = await startPodman();
  const image = 'localhost/volume:1';
  await makeWorkerImage(podman, PYTHONS.new, join(import.meta.dirname, '../handlers/mark.py'), image);
  const slipway = await startProcesses(t, {
    env: LONG_LEASE,
    agentEnv: { SLIPWAY_AGENT_CONTAINERS: podman.socket, SLIPWAY_AGENT_LOCATIONS: 'EU-RO-1' },
  });
  const [[agent], [core]] = [slipway.agents, slipway.cores];
  const made = await slipway.request('POST', '/v1/networkvolumes', { name: 'v', size: 1, dataCenterId: 'EU-RO-1' });
  const volume = made.json.id;
  const inVolume = (name: string): string => join(slipway.folder, 'agent-1/volumes', volume, name);
  const linesOf = (name: string): string[] =>
    existsSync(inVolume(name)) ? readFileSync(inVolume(name), 'utf8').split('\n').slice(0, -1) : [];
  const fields = { ...SIZE, workersMin: 2, networkVolumeIds: [volume] };
  const id = await slipway.createEndpoint({ command: [], imageName: image, fields, workersMax: 2, retryLimit: 10 });
  const jobs = endpointJobs(slipway, id);
  const isEnded = ({ status }: PublicJson): boolean => /COMPLETED|FAILED|CANCELLED|TIMED_OUT/.test(status);
  const containerOf = async (jobId: string): Promise<string> => {
    const [row] = await slipway.sql<{ worker_id: string }[]>`SELECT worker_id FROM job WHERE id = ${jobId}`;
    const names = (await podman.names()).split('\n');
    return names.find((name) => row !== undefined && name.endsWith(row.worker_id))!;
  };

  await t.test('no line of a job that ended is lost', async (t) => {
    const ids: string[] = [];
    const step = async (): Promise<void> => {
      const numbers = Array.from({ length: STEP }, (_, place) => ids.length + place);
      ids.push(...(await Promise.all(numbers.map((number) => jobs.run({ number, volume: true, pause: 0.2 })))));
      const next = ids.length - STEP / 2;
      await waitFor('half of them to end', async () => isEnded(await jobs.look(ids[next]!)), ENDED_MS_MAX);
    };
    await step();
    const running = await jobs.run({ number: ids.length, volume: true, pause: 2 });
    ids.push(running);
    const name = await waitFor('it to run', async () => {
      const { status } = await jobs.look(running);
      return status === 'IN_PROGRESS' && (await containerOf(running));
    });
    await podman.cli('kill', '--signal=KILL', name);
    await step();
    await agent!.kill();
    await agent!.start();
    await step();
    await podman.killService();
    await podman.startService();
    await step();
    await core!.kill();
    await core!.start();
    await step();
    const lines = new Set<string>();
    for (const [number, jobId] of ids.entries()) {
      const job = await jobs.when(jobId, 'over', isEnded, ENDED_MS_MAX);
      const output = job.output as Output | undefined;
      t.match(job, { status: 'COMPLETED', output: { number } });
      lines.add(`${number} ${output?.mark}`);
    }
    const written = linesOf('lines');
    t.same(
      [...lines].filter((line) => !written.includes(line)),
      [],
      'each line is there',
    );
    t.same(
      written.filter((line) => !/^\d+ [0-9a-f]{32}$/.test(line)),
      [],
      'and whole',
    );
    t.comment(`${written.length} lines of ${ids.length} jobs`);

    const command = jsHandler('all.js');
    const { networkVolumeIds } = fields;
    const other = endpointJobs(slipway, await slipway.createEndpoint({ command, fields: { networkVolumeIds } }));
    const { output } = await other.runSync({ mode: 'files' });
    t.equal((output as Record<string, string>)['lines'], `${written.join('\n')}\n`, 'a command reads the same');
  });

  for (const [victim, part] of [
    ['the agent', agent!],
    ['core', core!],
  ] as const)
    await t.test(`out of memory while ${victim} is gone`, async (t) => {
      const gate = `gate-${part.name}`;
      const jobId = await jobs.run({ gate, mebibytes: TOO_MUCH_MIB });
      await waitFor('its handler to run', () => linesOf('begun').includes(jobId), ENDED_MS_MAX);
      const name = await containerOf(jobId);
      await part.kill();
      writeFileSync(inVolume(gate), '');
      await waitFor('the kernel to kill it', async () => !(await podman.names()).split('\n').includes(name));
      await part.start();
      const job = await jobs.when(jobId, 'over', isEnded, ENDED_MS_MAX);
      t.match(job, { status: 'FAILED', error: /ran out of memory while it held the job: it has 1 GiB/ });
      t.notOk(job.retries, 'it was not retried');
      t.equal(linesOf('begun').filter((line) => line === jobId).length, 1, 'it ran once');
      t.match(await jobs.settled(await jobs.run({ number: 0, pause: 0 })), { status: 'COMPLETED' }, 'others go on');
    });
});
