// test: postgres, 25 s
/** Data beside and on the session: large inputs and outputs, storage settings, chunks, progress, logs. */

import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { AttemptRef, FetchInputResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AgentServiceClient, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { ChunkCursor, JobState, type S3Config, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX, SIDE_STREAM_PIECE_BYTES } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import type { ScriptedAgent } from '../../helpers/grpc/scripted-agent.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const silent = { onAssignment: () => undefined };

async function sideClient(t: Test, core: CoreReplicas, { machineId }: ScriptedAgent) {
  const agentKey = await core.keyOf(machineId);
  const client = systemTransport.openClient(AgentServiceClient, core.replicas[0]!.address);
  t.teardown(() => client.close());
  const metadata = callMetadata(agentKey);
  const fetchInput = (ref: AttemptRef): Promise<{ pieces: number[]; input: Buffer }> =>
    new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      client
        .fetchInput({ ref }, metadata)
        .on('data', (response: FetchInputResponse) => pieces.push(response.piece))
        .on('error', reject)
        .on('end', () => resolve({ pieces: pieces.map((piece) => piece.length), input: Buffer.concat(pieces) }));
    });
  const reportOutcome = (ref: AttemptRef, output: Buffer, pieceBytes = SIDE_STREAM_PIECE_BYTES): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = client.reportOutcome(metadata, (error) => (error ? reject(error) : resolve()));
      stream.write({
        outcome: { ref, kind: OutcomeKind.COMPLETED, output: undefined, error: '' },
        piece: output.subarray(0, pieceBytes),
      });
      for (let at = pieceBytes; at < output.length; at += pieceBytes)
        stream.write({ outcome: undefined, piece: output.subarray(at, at + pieceBytes) });
      stream.end();
    });
  return { fetchInput, reportOutcome };
}

t.test('a large input is fetched, a large output is sent, both piece by piece', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const side = await sideClient(t, core, agent);
  const input = { text: 'x'.repeat(600_000) };
  const { id } = await core.submit(endpointId, input);
  const assignment = await waitFor('it to run', () => agent.assignments[0]);
  t.equal(assignment.input, undefined, 'left out');
  t.equal(assignment.inputSize, JSON.stringify(input).length);
  const fetched = await side.fetchInput(assignment.ref!);
  t.same(JSON.parse(fetched.input.toString()), input);
  t.ok(Math.max(...fetched.pieces) <= SIDE_STREAM_PIECE_BYTES);
  t.match(await reasonOfStatus(side.fetchInput({ ...assignment.ref!, attempt: 2 })), 5, 'another attempt gets nothing');
  const output = Buffer.from(JSON.stringify({ text: 'y'.repeat(3_000_000) }));
  await side.reportOutcome(assignment.ref!, output);
  const job = await core.wait(endpointId, id);
  t.equal(job.state, JobState.COMPLETED);
  t.ok(job.output?.equals(output));
  await side.reportOutcome(assignment.ref!, output);
  t.pass('sent again: it no longer matters');
  const next = await core.submit(endpointId);
  await waitFor('the slot to be free', () => agent.assignments[1]);
  await side.reportOutcome(
    agent.assignments[1]!.ref!,
    Buffer.alloc(OUTPUT_BYTES_MAX + 1, 'x'),
    4 * SIDE_STREAM_PIECE_BYTES,
  );
  t.match(await core.wait(endpointId, next.id), { state: JobState.FAILED, error: /the output has 20971521 bytes/ });
});

t.test('storage settings reach the worker and nobody else', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const s3Config: S3Config = {
    accessId: 'id',
    accessSecret: 'hush hush',
    bucketName: 'b',
    endpointUrl: 'https://s3.example',
    objectPath: '',
  };
  await call(
    core.clients.jobs,
    'submitJob',
    {
      endpointId,
      requestId: '',
      kind: SubmitKind.ASYNC,
      input: Buffer.from('{}'),
      webhook: '',
      policy: undefined,
      s3Config,
      waitMs: 0,
      idempotencyKey: '',
    },
    core.key,
  );
  const assignment = await waitFor('it to run', () => agent.assignments[0]);
  t.same(assignment.s3Config, s3Config);
  const [row] = await core.sql`SELECT s3_config_sealed AS sealed FROM job_input`;
  t.notMatch((row!.sealed as Buffer).toString('latin1'), 'hush hush');
});

t.test('an oversized message makes its job FAILED, and the session stays open', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const run = async (index: number) => {
    const { id } = await core.submit(endpointId);
    const { ref } = await waitFor('it to run', () => agent.assignments[index]);
    return { id, ref };
  };
  const text = (bytes: number): Buffer => Buffer.from(`"${'x'.repeat(bytes - 2)}"`);
  const first = await run(0);
  agent.send({
    outcomes: [{ ref: first.ref, kind: OutcomeKind.COMPLETED, output: text(OUTPUT_BYTES_MAX + 1), error: '' }],
  });
  const error = 'the output has 20971521 bytes, but may have 20971520; store it elsewhere and return a link';
  t.match(await core.wait(endpointId, first.id), { state: JobState.FAILED, error });
  const second = await run(1);
  const chunkOf = (number: number, bytes: number) => ({ ref: second.ref, number, output: text(bytes) });
  agent.send({ chunks: [chunkOf(1, CHUNK_BYTES_MAX), chunkOf(2, CHUNK_BYTES_MAX + 1)] });
  t.match(await core.wait(endpointId, second.id), {
    state: JobState.FAILED,
    error: 'the agent sent a streamed value of 1000001 bytes, but it may have 1000000',
  });
  const request = { endpointId, jobId: second.id, cursor: undefined, waitMs: 0, limit: 10 };
  t.equal(
    (await call(core.clients.jobs, 'readChunks', request, core.key)).chunks[0]?.output.length,
    CHUNK_BYTES_MAX,
    'what came before is shown',
  );
  await waitFor('the stop', () => agent.stops.length > 0);
  agent.finish(second.ref!, { kind: OutcomeKind.STOPPED });
  const third = await run(2);
  agent.send({
    outcomes: [{ ref: third.ref, kind: OutcomeKind.COMPLETED, output: text(OUTPUT_BYTES_MAX), error: '' }],
  });
  t.match(await core.wait(endpointId, third.id), { state: JobState.COMPLETED });
});

t.test('chunks are stored before the end is, and acknowledged in order; progress shows while it runs', async (t) => {
  const core = await startReplicas(t);
  const agent = await core.joinAgent(silent);
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { id } = await core.submit(endpointId);
  const { ref } = await waitFor('it to run', () => agent.assignments[0]);
  agent.send({ progress: [{ ref, output: Buffer.from('"half"') }] });
  await waitFor('the progress', async () => (await core.get(endpointId, id)).output?.toString() === '"half"');
  const numbers = Array.from({ length: 300 }, (_, index) => index + 1);
  agent.send({
    chunks: numbers.map((number) => ({ ref, number, output: Buffer.from(`${number}`) })),
    outcomes: [{ ref, kind: OutcomeKind.COMPLETED, output: Buffer.from('[]'), error: '' }],
  });
  t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED);
  const page = await call(
    core.clients.jobs,
    'readChunks',
    { endpointId, jobId: id, cursor: undefined, waitMs: 0, limit: 1_000 },
    core.key,
  );
  t.same(
    page.chunks.map((chunk) => Number(chunk.output)),
    numbers,
    'all of them are there when the job is final',
  );
  await waitFor('the acknowledgement', () => agent.chunkAcks.at(-1)?.number === 300);
});

t.test(
  'a gap in the numbers of chunks is not waited for: what arrived is shown in order, and a number stays as ' +
    'it was stored',
  async (t) => {
    const core = await startReplicas(t);
    const agent = await core.joinAgent(silent);
    const endpointId = await core.createEndpoint();
    await core.ready(endpointId);
    const { id } = await core.submit(endpointId);
    const { ref } = await waitFor('it to run', () => agent.assignments[0]);
    const send = (...numbers: number[]): void =>
      agent.send({ chunks: numbers.map((number) => ({ ref, number, output: Buffer.from(`${number}`) })) });
    const acked = (number: number) =>
      waitFor(`an acknowledgement of ${number}`, () => agent.chunkAcks.some((ack) => ack.number === number));
    const read = async (cursor?: { attempt: number; number: number }): Promise<number[]> => {
      const request = {
        endpointId,
        jobId: id,
        cursor: cursor && ChunkCursor.fromPartial(cursor),
        waitMs: 0,
        limit: 1_000,
      };
      return (await call(core.clients.jobs, 'readChunks', request, core.key)).chunks.map((chunk) =>
        Number(chunk.output),
      );
    };
    send(4, 1);
    await acked(4);
    t.same(await read(), [1, 4], 'in order of number, without 2 and 3');
    send(0, -1, 2);
    await acked(2);
    t.same(await read(), [], 'the shared place has passed 2');
    t.same(await read({ attempt: 1, number: 1 }), [2, 4], 'a reader that has not passed it gets it');
    agent.send({
      chunks: [
        { ref, number: 2, output: Buffer.from('22') },
        { ref, number: 5, output: Buffer.from('5') },
      ],
    });
    await acked(5);
    t.same(await read({ attempt: 1, number: 0 }), [1, 2, 4, 5], 'sent again, it is what it was');
    t.notOk(
      agent.chunkAcks.some((ack) => ack.number < 1),
      'what has no number is not acknowledged',
    );
    agent.finish(ref!);
    t.equal((await core.wait(endpointId, id)).state, JobState.COMPLETED, 'the end does not wait for 3 either');
  },
);

t.test('logs are read through any replica', async (t) => {
  const core = await startReplicas(t, 2);
  const agent = await core.joinAgent(
    { onLogRequest: ({ tailBytes }) => Buffer.from(`the last ${tailBytes} bytes`) },
    core.replicas[1],
  );
  const endpointId = await core.createEndpoint();
  await core.ready(endpointId);
  const { workerId } = agent.desired[0]!;
  const read = (clients: ReturnType<typeof grpcClients>, tailBytes: number, key = core.key) =>
    call(clients.machines, 'getWorkerLog', { workerId, tailBytes }, key);
  const other = grpcClients(core.replicas[1]!.address);
  t.teardown(() => other.close());
  t.equal((await read(other, 100)).log.toString(), 'the last 100 bytes', 'where its session is');
  t.equal((await read(core.clients, 0)).log.toString(), 'the last 65536 bytes', 'and from elsewhere');
  t.match(await reasonOf(read(core.clients, 1_048_577)), /^INVALID_REQUEST: tail_bytes/);
  const stranger = await core.newKey(undefined, [], await core.newAccount());
  t.match(await reasonOf(read(core.clients, 1, stranger)), /^NOT_FOUND/);
  agent.drop();
  await waitFor('the session to end', async () => /^UNAVAILABLE/.test(await reasonOf(read(core.clients, 1))));
});

t.test('an unresponsive machine and a greedy account do not block logs of others', async (t) => {
  const core = await startReplicas(t);
  const keys = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => core.newKey(undefined, [], await core.newAccount(name))),
  );
  const hung = await core.joinAgent({ cpuSlots: 3, onLogRequest: () => undefined });
  const workers: string[] = [];
  for (const key of keys) {
    const endpointId = await core.createEndpoint({}, key);
    await core.ready(endpointId);
    workers.push(hung.desired.find((worker) => worker.endpointId === endpointId)!.workerId);
  }
  const well = await core.joinAgent({ onLogRequest: () => Buffer.from('well') });
  await core.ready(await core.createEndpoint());
  const read = (workerId: string, key: string) =>
    call(core.clients.machines, 'getWorkerLog', { workerId, tailBytes: 0 }, key);
  const ask = (place: number, times: number) =>
    Array.from({ length: times }, () => reasonOf(read(workers[place]!, keys[place]!)));
  const asked = ask(0, 9);
  t.match(await Promise.race(asked), /^RATE_LIMITED/, 'the ninth of one account');
  // Which of these is the seventeenth is not theirs to say: the keys of the accounts are looked up beside each other.
  const more = [...ask(1, 8), ...ask(2, 1)];
  t.match(await Promise.race(more), /^RATE_LIMITED/, 'the seventeenth of one machine');
  asked.push(...more);
  t.equal((await read(well.desired[0]!.workerId, core.key)).log.toString(), 'well', 'that of another machine is read');
  t.equal(
    (await Promise.all(asked)).filter((reason) => reason.startsWith('UNAVAILABLE')).length,
    16,
    'the others were waited for',
  );
});

/** gRPC code of a failure. */
async function reasonOfStatus(calling: Promise<unknown>): Promise<number> {
  return calling.then(
    () => 0,
    (error: { code: number }) => error.code,
  );
}
