// test: 10 s
/** kill -9 of the agent and of core while a pod runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { podCalls } from '../helpers/pods/pod-calls.ts';
import { isAlive } from '../helpers/scratch.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Notes its number and the files it finds, leaves a file and goes on. */
const PROGRAM = 'echo "$$ $(ls)" >> "$NOTES"; touch kept; exec sleep 1000';

const slipway = await startProcesses(t);
const pods = podCalls(slipway.clients, slipway.key);

async function startPod(name: string) {
  const notes = join(slipway.folder, name);
  const fields = { computeType: 'CPU', startCommand: ['sh', '-c', PROGRAM], env: { NOTES: notes } };
  const { id } = await waitFor('a place for the pod', () => pods.create(fields));
  const starts = (): { pid: number; files: string }[] =>
    readFileSync(notes, 'utf8')
      .trim()
      .split('\n')
      .map((line) => {
        const [pid, files] = line.split(' ');
        return { pid: Number(pid), files: files ?? '' };
      });
  await pods.reach(id, 'RUNNING');
  await waitFor('its note', () => starts().length === 1);
  return { id, starts };
}

t.test('a killed agent ends the pod, and the next one starts it with its files', async (t) => {
  const { id, starts } = await startPod('first');
  const [agent] = slipway.agents;
  await agent!.kill();
  await waitFor('its process to end', () => !isAlive(starts()[0]!.pid));
  await agent!.start();
  await waitFor('the second start', () => starts().length === 2);
  const [, second] = starts();
  t.equal(second!.files, 'kept');
  await pods.reach(id, 'RUNNING');
  t.ok(isAlive(second!.pid));
  await pods.remove(id);
});

t.test('a killed core leaves the pod running, and the next one controls it', async (t) => {
  const { id, starts } = await startPod('second');
  const [core] = slipway.cores;
  await core!.kill();
  await core!.start();
  await waitFor(
    'core to see it',
    async () =>
      (await slipway.sql`SELECT FROM machine WHERE session_id IS NOT NULL AND lease_expires_at > now()`).length === 1,
  );
  t.equal((await waitFor('the pod to be seen', () => pods.get(id))).state, PodState.RUNNING);
  t.ok(isAlive(starts()[0]!.pid));
  await pods.act('stopPod', id);
  await pods.reach(id, 'EXITED');
  t.notOk(isAlive(starts()[0]!.pid));
  t.equal(starts().length, 1, 'nothing was started twice');
});
