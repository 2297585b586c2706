// test: postgres
/** Waiting jobs of a batch leave their slots once requests with normal priority arrive, at any replica. */
import type { Assignment } from '@slipway/proto/gen/slipway/v1/agent_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { batchCalls, line, ROUTE } from './batch-calls.ts';

t.setTimeout(120_000);

const SLOTS = 4;
const REQUESTS = 30;

const core = await startReplicas(t, 2);
const { create, get, lines, until, upload } = batchCalls(core);
/** Assignments that have not ended, by the text of their request. */
const running = new Map<string, Assignment>();
const ran: string[] = [];
const agent = await core.joinAgent({
  capacity: SLOTS,
  onAssignment: (assignment) => {
    const { openai_input: input } = JSON.parse(assignment.input!.toString()) as {
      openai_input: { messages: { content: string }[] };
    };
    const text = input.messages[0]!.content;
    ran.push(text);
    running.set(text, assignment);
    return undefined;
  },
});
const end = (text: string): void => {
  agent.finish(running.get(text)!.ref!);
  running.delete(text);
};
const ofBatch = (): string[] => [...running.keys()].filter((text) => text !== 'normal');

for (const [index, name] of ['first', 'second'].entries())
  t.test(`normal requests come to the ${name} replica`, async (t) => {
    running.clear();
    ran.length = 0;
    const endpointId = await core.createEndpoint({ name, workersMax: 1 });
    await core.ready(endpointId);
    const texts = Array.from({ length: REQUESTS }, (_, number) => `${name} ${number}`);
    const id = await create(await upload(texts.map((text, at) => line(`r-${at}`, text, name)).join('\n')));
    const full = await waitFor('jobs that wait behind those in all slots', async () => {
      const batch = await get(id);
      return running.size === SLOTS && batch.submitted > SLOTS && batch;
    });
    t.ok(full.submitted < REQUESTS);

    const clients = grpcClients(core.replicas[index]!.address);
    t.teardown(() => clients.close());
    const input = Buffer.from(
      JSON.stringify({ openai_route: ROUTE, openai_input: { messages: [{ content: 'normal' }] } }),
    );
    const normal = { endpointId, requestId: '', kind: SubmitKind.ASYNC, input, webhook: '', s3Config: undefined };
    const more = { policy: undefined, waitMs: 0, idempotencyKey: '' };
    await call(clients.jobs, 'submitJob', { ...normal, ...more }, core.key);
    await waitFor('only jobs that run', async () => (await get(id)).submitted === SLOTS);
    const [first, second, ...others] = ofBatch();
    end(first!);
    await waitFor('the normal job', () => running.has('normal'));
    end(second!);
    await waitFor('its result', async () => (await get(id)).completed === 2);
    t.match(await get(id), { submitted: 2 });
    t.equal(running.size, SLOTS - 1, 'a slot is free for the next normal job');

    end('normal');
    for (const text of others) end(text);
    await waitFor('all of the others', async () => {
      for (const text of ofBatch()) end(text);
      return (await get(id)).state === BatchState.COMPLETED;
    });
    const done = await until(id, BatchState.COMPLETED);
    t.match(done, { total: REQUESTS, completed: REQUESTS });
    t.same(
      (await lines(done.outputFileId)).map(({ custom_id }) => custom_id),
      texts.map((_, at) => `r-${at}`),
    );
    t.same([...ran].sort(), [...texts, 'normal'].sort(), 'each ran once');
  });

t.test('no job waits that is not there, and counts are right', async (t) => {
  const [row] = await core.sql<{ queued: number; jobs: number }[]>`
    SELECT (SELECT coalesce(sum(queued), 0) FROM endpoint_tally)::int AS queued,
      (SELECT count(*) FROM job WHERE finished_at IS NULL)::int AS jobs`;
  t.same(row, { queued: 0, jobs: 0 });
});
