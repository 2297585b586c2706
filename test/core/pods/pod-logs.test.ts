// test: postgres
/** Logs of pods: over restarts, agents and replicas. */

import type { JobLogPage } from '@slipway/proto/gen/slipway/v1/job_log';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startRealAgent } from '../../helpers/system/real-agent.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { start } from './start-pods.ts';

t.setTimeout(120_000);

/** Returns a page without lines of the system around the pod. */
const ownLines = (page: JobLogPage): JobLogPage => ({ ...page, lines: page.lines.filter(({ system }) => !system) });

t.test('its log continues where it ended under the previous agent, by bytes and by lines', async (t) => {
  const { core, agent, pods, notes } = await start(t);
  const command = 'echo x >> "$NOTES/starts"; echo start $(wc -l < "$NOTES/starts"); exec sleep 1000';
  const { id } = await pods.create({
    computeType: 'CPU',
    startCommand: ['sh', '-c', command],
    env: { NOTES: notes.folder },
  });
  const read = async (offset: number, jobId = '') => {
    const place = { jobId, attempt: 0, offset, limit: 0 };
    return ownLines((await call(core.clients.pods, 'getPodLog', { id, tailBytes: 0, place }, core.key)).page!);
  };
  const textsOf = ({ lines }: Awaited<ReturnType<typeof read>>): string[] => lines.map(({ text }) => text);
  const first = await waitFor('its first line', async () => {
    const page = await read(0).catch(() => undefined);
    return page && page.lines.length > 0 && page;
  });
  t.match(first, { lines: [{ workerId: id, text: 'start 1' }], over: false, cut: false });
  t.ok(Math.abs(first.lines[0]!.time!.getTime() - Date.now()) < 60_000);
  t.match(await reasonOf(read(0, 'a-job')), /^INVALID_REQUEST/);
  await agent.stop();
  t.match(await reasonOf(read(0)), /^UNAVAILABLE/);
  const next = await startRealAgent(t, core, {}, agent.dataDir);
  await notes.notes('starts', 2);
  const page = await waitFor('its next line', async () => {
    const more = await read(first.offset).catch(() => undefined);
    return more && more.lines.length > 0 && more;
  });
  t.same(textsOf(page), ['start 2'], 'who reads on misses nothing and sees nothing twice');
  t.same(textsOf(await read(0)), ['start 1', 'start 2']);
  t.equal(await pods.log(id), 'start 1\nstart 2\n');
  await pods.act('stopPod', id);
  await pods.reach(id, 'EXITED');
  t.match(await read(page.offset), { lines: [], over: true });
  await next.stop();
  await startRealAgent(t, core, {}, agent.dataDir);
  // Until the agent knows that nothing of it runs, more lines may come.
  const still = await waitFor('the agent to know it', async () => {
    const found = await read(0).catch(() => undefined);
    return found?.over && found;
  });
  t.match(still, { lines: [{ text: 'start 1' }, { text: 'start 2' }], over: true }, 'of one that does not run as well');
  await pods.act('startPod', id);
  await notes.notes('starts', 3);
  await waitFor('its third line', async () => textsOf(await read(page.offset)).join() === 'start 3');
  t.same(textsOf(await read(0)), ['start 1', 'start 2', 'start 3']);
});

t.test('the log of a restarted pod continues, and ends for one that cannot restart', async (t) => {
  const { core, agent, pods } = await start(t);
  const { id } = await pods.create({ computeType: 'CPU', startCommand: ['sh', '-c', 'echo oops; exit 3'] });
  await pods.reach(id, 'FAILED');
  const place = { jobId: '', attempt: 0, offset: 0, limit: 0 };
  const read = async () =>
    ownLines((await call(core.clients.pods, 'getPodLog', { id, tailBytes: 0, place }, core.key)).page!);
  t.match(await read(), { lines: [{ text: 'oops' }], over: false });
  await agent.stop();
  await startRealAgent(t, core, { SLIPWAY_AGENT_ALLOW_COMMANDS: 'false' }, agent.dataDir);
  const page = await waitFor('its end', async () => {
    const found = await read().catch(() => undefined);
    return found?.over && found;
  });
  t.match(page.lines[0], { text: 'oops' });
});

t.test('another replica fetches the log', async (t) => {
  const { core, pods, fields, notes } = await start(t);
  const { id } = await pods.create(fields);
  await notes.notes('pids', 1);
  const { address } = await core.startReplica();
  const clients = grpcClients(address);
  t.teardown(() => clients.close());
  await waitFor('the log', async () => (await podCalls(clients, core.key).log(id)) === 'hello one\n');
  const place = { jobId: '', attempt: 0, offset: 0, limit: 0 };
  const { page, log } = await call(clients.pods, 'getPodLog', { id, tailBytes: 0, place }, core.key);
  t.match([ownLines(page!), log.length], [{ lines: [{ text: 'hello one' }], more: false, over: false }, 0]);
});
