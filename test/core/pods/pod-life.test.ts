// test: postgres, 20 s
/** Pods that really run: real core, real agent, real processes. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Pod, PodState, PodStatus } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { isAlive } from '../../helpers/scratch.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { start } from './start-pods.ts';

t.setTimeout(600_000);

t.test('life cycle', async (t) => {
  const { core, agent, notes, fields, envOf, pods } = await start(t, { SLIPWAY_AGENT_NAME: 'box' });
  await call(core.clients.access, 'updateAccount', { publicKey: 'ssh-ed25519 AAAA me' }, core.key);
  const { id } = await pods.create(fields);
  await pods.reach(id, 'RUNNING');
  const [pid] = await notes.notes('pids', 1);
  const who = { RUNPOD_POD_ID: id, RUNPOD_POD_HOSTNAME: `${id}-box`, PUBLIC_KEY: 'ssh-ed25519 AAAA me' };
  t.match(envOf(), { ...who, RUNPOD_GPU_COUNT: '0', CUDA_VISIBLE_DEVICES: '', WORD: 'one' });
  t.same(notes.lines('folders'), [join(agent.dataDir, 'pods', id, '1')]);
  await waitFor('its log', async () => (await pods.log(id)) === 'hello one\n');

  await pods.act('stopPod', id);
  t.match(await pods.reach(id, 'EXITED'), { desiredStatus: PodStatus.EXITED, statusText: '' });
  t.notOk(isAlive(Number(pid)));
  t.equal(await pods.log(id), 'hello one\n', 'its log can still be read');
  t.ok(existsSync(join(agent.dataDir, 'pods', id, '1', 'kept')), 'its files stay');

  await pods.act('startPod', id);
  await notes.notes('pids', 2);
  await pods.act('restartPod', id);
  await notes.notes('pids', 3);
  t.same(notes.lines('files'), ['', 'kept', 'kept'], 'and are there again');
  await pods.act('resetPod', id);
  await notes.notes('pids', 4);
  t.same(notes.lines('files').at(-1), '', 'a reset empties its disk');
  t.same(readdirSync(join(agent.dataDir, 'pods', id)), ['2'], 'the old one is gone');
  await pods.update(id, { env: { ...fields.env, WORD: 'two' } });
  await notes.notes('pids', 5);
  t.equal(envOf().WORD, 'two');
  t.equal(notes.lines('files').at(-1), '');
  await pods.update(id, { name: 'other' });
  await pods.reach(id, 'RUNNING');
  t.equal(notes.lines('pids').length, 5, 'a new name starts nothing');
  t.same(
    notes.lines('pids').map((line) => isAlive(Number(line))),
    [false, false, false, false, true],
    'one at a time',
  );

  await pods.remove(id);
  await waitFor('its files to go', () => !existsSync(join(agent.dataDir, 'pods', id)));
  t.notOk(isAlive(Number(notes.lines('pids').at(-1))));
  t.match(await reasonOf(pods.log(id)), /^NOT_FOUND/);
  t.same(readdirSync(join(agent.dataDir, 'logs')), [], 'nor is its log kept');
});

t.test('one that is created stopped runs when it is started, and is metered from then on', async (t) => {
  const { core, notes, pods, fields } = await start(t);
  const request = { pod: Pod.fromPartial(fields), stopped: true, requestId: 'once' };
  const { pod } = await call(core.clients.pods, 'createPod', request, core.key);
  t.match(pod, { desiredStatus: PodStatus.EXITED, state: PodState.EXITED, gpuUuids: [] });
  t.equal((await call(core.clients.pods, 'createPod', request, core.key)).pod!.id, pod!.id);
  // What was created later runs, so the agent has seen both.
  const { id: other } = await pods.create({ ...fields, startCommand: ['sleep', '1000'] });
  await pods.reach(other, 'RUNNING');
  t.match(await pods.get(pod!.id), { state: PodState.EXITED });
  t.same(notes.lines('pids'), []);
  const spans = () => core.sql`SELECT FROM usage_span WHERE subject_id = ${pod!.id}`;
  t.equal((await spans()).length, 0);
  await pods.act('startPod', pod!.id);
  await notes.notes('pids', 1);
  t.equal((await spans()).length, 1);
});

t.test('one that ends by itself is started again, with the reason', async (t) => {
  const { notes, pods } = await start(t);
  const command = 'echo x >> "$NOTES/starts"; echo oops >&2; exit 3';
  const { id } = await pods.create({
    computeType: 'CPU',
    startCommand: ['sh', '-c', command],
    env: { NOTES: notes.folder },
  });
  const failed = await pods.reach(id, 'FAILED');
  t.equal(failed.desiredStatus, PodStatus.RUNNING);
  t.match(
    failed.statusText,
    /^The pod ended with exit code 3\. It is started again after \d+ s\. Its last lines:\noops$/,
  );
  await notes.notes('starts', 2);
  await waitFor('its log', async () => (await pods.log(id)).startsWith('oops\noops\n'));
  await pods.act('stopPod', id);
  t.match(await pods.reach(id, 'EXITED'), { statusText: '' });
  const missing = await pods.create({ computeType: 'CPU', startCommand: ['/nonexistent/program'] });
  t.match(await pods.reach(missing.id, 'FAILED'), { statusText: /exit code 127/ });
  const nowhere = await pods.create({ computeType: 'CPU', startCommand: ['true'], workingDirectory: '/nonexistent' });
  t.match(await pods.reach(nowhere.id, 'FAILED'), { statusText: /^The pod could not be started: .*ENOENT/ });
});

t.test('an image is not placed without an engine, also with a command, and the refusal is immediate', async (t) => {
  const { pods, fields } = await start(t);
  const why = /^NO_CAPACITY: .*1 machine has no container engine\.$/;
  t.match(await reasonOf(pods.create({ computeType: 'CPU', imageName: 'pytorch' })), why);
  t.match(await reasonOf(pods.create({ ...fields, imageName: 'pytorch' })), why);
  const { id } = await pods.create(fields);
  await pods.reach(id, 'RUNNING');
  t.match(await reasonOf(pods.update(id, { imageName: 'pytorch' })), why, 'nor can one become an image there');
  t.match(await pods.reach(id, 'RUNNING'), { imageName: '' }, 'which changed nothing');
});

t.test('one that ignores the request to end is killed', async (t) => {
  const { pods, notes } = await start(t);
  const deaf = 'trap "" TERM; echo $$ >> "$NOTES/pids"; while :; do sleep 0.05; done';
  const { id } = await pods.create({
    computeType: 'CPU',
    startCommand: ['sh', '-c', deaf],
    env: { NOTES: notes.folder },
  });
  const [pid] = await notes.notes('pids', 1);
  await pods.act('stopPod', id);
  await pods.reach(id, 'EXITED');
  t.notOk(isAlive(Number(pid)));
});

t.test('GPUs', async (t) => {
  const { pods, fields, envOf, notes } = await start(t, { SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' });
  const { id } = await pods.create({ ...fields, computeType: 'GPU', gpuIds: ['AMPERE_24'], gpuCount: 2 });
  await notes.notes('pids', 1);
  const given = {
    RUNPOD_GPU_COUNT: '2',
    RUNPOD_GPU_TYPE_ID: 'NVIDIA L4',
    CUDA_VISIBLE_DEVICES: '',
    NVIDIA_VISIBLE_DEVICES: 'void',
  };
  t.match(envOf(), given, 'a driver knows no virtual ones');
  t.match(await reasonOf(pods.create({ ...fields, computeType: 'GPU' })), /^NO_CAPACITY/);
  await pods.act('stopPod', id);
  t.equal((await pods.create({ ...fields, computeType: 'GPU' })).gpuUuids.length, 1);
});

t.test('whoever gets the GPU of a stopped or deleted pod waits for its end', async (t) => {
  const { core, pods, notes } = await start(t, { SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576' });
  const deaf = 'trap "" TERM; echo $$ >> "$NOTES/first"; while :; do sleep 0.05; done';
  const env = { NOTES: notes.folder };
  // The first that runs on the GPU notes whether the one before still does.
  const heir =
    'if kill -0 "$(tail -n 1 "$NOTES/first")" 2>/dev/null; then echo shared; else echo alone; fi >> ' +
    '"$NOTES/heirs"; exec sleep 1000';
  const first = await pods.create({ startCommand: ['sh', '-c', deaf], env });
  await notes.notes('first', 1);
  await pods.act('stopPod', first.id);
  const second = await pods.create({ startCommand: ['sh', '-c', heir], env });
  t.same(await notes.notes('heirs', 1), ['alone']);
  await pods.remove(second.id);
  const third = await pods.create({ startCommand: ['sh', '-c', deaf], env });
  await notes.notes('first', 2);
  await pods.remove(third.id);
  const templateId = await core.createTemplate({ startCommand: ['sh', '-c', heir], env });
  await core.createEndpoint({ templateId, gpuIds: ['NVIDIA L4'] });
  t.same(await notes.notes('heirs', 2), ['alone', 'alone'], 'workers too');
});

t.test('a network volume', async (t) => {
  const { core, agent, pods, fields, envOf, notes } = await start(t, { SLIPWAY_AGENT_LOCATIONS: 'EU-1' });
  await core.sql`INSERT INTO network_volume (id, account_id, name, size_gb, data_center_id)
    VALUES ('vol1', ${core.accountId}, 'v', 1, 'EU-1')`;
  const { id } = await pods.create({ ...fields, networkVolumeId: 'vol1' });
  await notes.notes('pids', 1);
  t.equal(envOf().RUNPOD_VOLUME_PATH, join(agent.dataDir, 'volumes/vol1'));
  await pods.remove(id);
  await waitFor('its files to go', () => !existsSync(join(agent.dataDir, 'pods', id)));
  t.ok(existsSync(join(agent.dataDir, 'volumes/vol1')), 'the volume stays');
});

t.test('the next agent starts what shall run, and removes what is gone', async (t) => {
  const { core, agent, pods, fields, notes } = await start(t);
  const { id } = await pods.create(fields);
  const still = await pods.create({ ...fields, startCommand: ['sh', '-c', 'touch kept; exec sleep 1000'] });
  const gone = await pods.create({ ...fields, startCommand: ['sleep', '1000'] });
  await notes.notes('pids', 1);
  await pods.reach(gone.id, 'RUNNING');
  const keptFile = join(agent.dataDir, 'pods', still.id, '1', 'kept');
  await waitFor('a file', () => existsSync(keptFile));
  await pods.act('stopPod', still.id);
  await pods.reach(still.id, 'EXITED');
  await agent.stop();
  t.notOk(isAlive(Number(notes.lines('pids')[0])), 'pods end with their agent');
  await pods.remove(gone.id);
  const folderOf = (podId: string): string => join(agent.dataDir, 'pods', podId);
  t.ok(existsSync(folderOf(gone.id)));
  await startRealAgent(t, core, {}, agent.dataDir);
  await notes.notes('pids', 2);
  t.same(notes.lines('files'), ['', 'kept']);
  await pods.reach(id, 'RUNNING');
  await waitFor('what is gone to be removed', () => !existsSync(folderOf(gone.id)));
  t.ok(existsSync(keptFile));
  t.match(await pods.get(still.id), { state: PodState.EXITED });
});

t.test('many changes at once leave one process and one disk', async (t) => {
  const { core, agent, pods, fields, notes } = await start(t);
  const { id } = await pods.create(fields);
  const verbs = ['stopPod', 'startPod', 'resetPod', 'restartPod'] as const;
  await Promise.all(Array.from({ length: 40 }, (_, i) => pods.act(verbs[i % verbs.length]!, id)));
  await pods.act('startPod', id);
  await pods.reach(id, 'RUNNING');
  const [row] = await core.sql<{ disk: number }[]>`SELECT disk FROM pod WHERE id = ${id}`;
  await waitFor('the one disk', () => readdirSync(join(agent.dataDir, 'pods', id)).join() === String(row!.disk));
  await waitFor('the one process', () => notes.lines('pids').filter((pid) => isAlive(Number(pid))).length === 1);
  t.equal(
    (await core.sql`SELECT FROM usage_span WHERE subject_id = ${id} AND ended_at IS NULL`).length,
    1,
    'metered once',
  );
});
